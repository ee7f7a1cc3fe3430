/* model.c: benches -> the cases, sweeps, workloads, roofs and devices of the report.
 *
 *   rmsnorm f32 dim=512     \
 *   rmsnorm f32 dim=1024     }  ->  workload rmsnorm: a sweep over dim of 3 cases,
 *   rmsnorm f32 dim=2048    /       and rmsnorm bf16 dim=512
 *   rmsnorm bf16 dim=512 */
#include "reports/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *opponent_name(enum opponent o) {
    static const char *const names[] = {"unfused", "default", "torch eager", "torch.compile",
                                        "max-autotune"};
    return names[o];
}

static const char *string(const char *s) { return s ? s : ""; }

/* ---- roofs ----------------------------------------------------------------------------------- */

static struct roof *find_roof(const struct model *m, const struct result_row *r) {
    for (size_t i = 0; i < m->n_roofs; i++)
        if (!strcmp(m->roofs[i].device, r->device) && !strcmp(m->roofs[i].dtype, r->dtype) &&
            !strcmp(m->roofs[i].precision, bench_precision(r)))
            return &m->roofs[i];
    return NULL;
}

static void add_roofs(struct model *m) {
    for (size_t i = 0; i < m->n; i++) {
        const struct result_row *key = m->cases[i].bench->key;
        if (find_roof(m, key)) continue;
        m->roofs = memory_resize(m->roofs, m->n_roofs + 1, sizeof *m->roofs);
        m->roofs[m->n_roofs++] = (struct roof){.device = key->device,
                                               .dtype = key->dtype,
                                               .precision = bench_precision(key),
                                               .gbps = NAN,
                                               .tflops = NAN};
    }
}

/* A copy's bandwidth is the device's, of whatever type: the newest row, by its time and not its
 * place in a file. */
static void measure_roofs(struct model *m) {
    for (size_t f = 0; f < m->n_files; f++)
        for (size_t i = 0; i < m->files[f].n; i++) {
            const struct result_row *r = &m->files[f].rows[i];
            if (r->role != ROLE_roof || !(r->gbps > 0)) continue;
            for (size_t k = 0; k < m->n_roofs; k++) {
                struct roof *roof = &m->roofs[k];
                if (strcmp(roof->device, r->device) != 0) continue;
                if (roof->timestamp && strcmp(r->timestamp, roof->timestamp) < 0) continue;
                roof->gbps = r->gbps;
                roof->timestamp = r->timestamp;
            }
        }
}

/* The peak that a row was judged by: where its floor is clearly longer than moving its bytes takes,
 * it is flops over floor. Rows of role roof name the device's highest, which programs of f32 never
 * meet. */
static double judged_peak(const struct result_row *r, double gbps) {
    double floor = row_floor_us(r);
    if (!(r->flops > 0) || !(floor > 1.1 * r->bytes / gbps / 1e3)) return NAN;
    return r->flops / floor / 1e6;
}

static void judge_peaks(struct model *m) {
    for (size_t i = 0; i < m->n; i++) {
        struct case_ *c = &m->cases[i];
        struct roof *roof = find_roof(m, c->bench->key);
        c->roof = roof;
        for (int role = 0; role < ROLE_COUNT; role++)
            if (c->bench->role[role])
                roof->tflops = fmax(roof->tflops, judged_peak(c->bench->role[role], roof->gbps));
    }
}

/* ---- trials ---------------------------------------------------------------------------------- */

static struct kernel *kernel_of(struct tuning *t, const char *name) {
    for (size_t i = 0; i < t->n; i++)
        if (!strcmp(t->kernels[i].name, name)) return &t->kernels[i];
    t->kernels = memory_resize(t->kernels, t->n + 1, sizeof *t->kernels);
    t->kernels[t->n] = (struct kernel){.name = name, .best_us = NAN};
    return &t->kernels[t->n++];
}

static void add_trial(struct tuning *t, const struct result_row *r) {
    struct kernel *k = kernel_of(t, r->kernel);
    k->trials = memory_resize(k->trials, k->n + 1, sizeof *k->trials);
    k->trials[k->n++] = r;
    if (r->is_winner == 1) k->winner = r;
    if (result_row_measured(r)) k->best_us = fmin(k->best_us, r->median_us);
}

static int by_best(const void *a, const void *b) {
    const struct kernel *x = a, *y = b;
    double one = isnan(x->best_us) ? 0 : x->best_us, other = isnan(y->best_us) ? 0 : y->best_us;
    if (one != other) return one > other ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void free_tuning(struct tuning *t) {
    for (size_t i = 0; i < t->n; i++) free(t->kernels[i].trials);
    free(t->kernels);
    *t = (struct tuning){0};
}

/* All trials of one key, oldest first: a case's are a run of this vector. */
struct trial {
    const struct result_row *row;
    size_t case_; /* of the model */
    size_t place;
};

static int by_case_and_run(const void *a, const void *b) {
    const struct trial *x = a, *y = b;
    if (x->case_ != y->case_) return x->case_ < y->case_ ? -1 : 1;
    int run = strcmp(x->row->run_id, y->row->run_id);
    if (run) return run;
    return x->place < y->place ? -1 : x->place > y->place;
}

static void add_trials(struct model *m, struct benches *b) {
    struct trial *all = NULL;
    size_t n = 0, cap = 0, place = 0, *case_of = memory_resize(NULL, b->n, sizeof *case_of);
    for (size_t k = 0; k < m->n; k++) case_of[m->cases[k].bench - b->all] = k;
    for (size_t f = 0; f < m->n_files; f++)
        for (size_t i = 0; i < m->files[f].n; i++) {
            const struct result_row *r = &m->files[f].rows[i];
            const struct bench *of = r->role == ROLE_variant ? benches_find(b, r) : NULL;
            if (!of) continue;
            size_t k = case_of[of - b->all];
            if (n == cap) all = memory_resize(all, cap = cap * 2 + 64, sizeof *all);
            all[n++] = (struct trial){r, k, place++};
        }
    if (n) qsort(all, n, sizeof *all, by_case_and_run);
    for (size_t i = 0; i < n; i++) {
        struct tuning *t = &m->cases[all[i].case_].tuning;
        if (t->run_id && strcmp(t->run_id, all[i].row->run_id) != 0)
            free_tuning(t); /* of an older run */
        t->run_id = all[i].row->run_id;
        add_trial(t, all[i].row);
    }
    for (size_t i = 0; i < m->n; i++)
        if (m->cases[i].tuning.n)
            qsort(m->cases[i].tuning.kernels, m->cases[i].tuning.n,
                  sizeof *m->cases[i].tuning.kernels, by_best);
    free(all);
    free(case_of);
}

/* ---- history --------------------------------------------------------------------------------- */

static int by_timestamp(const void *a, const void *b) {
    const struct result_row *x = *(const struct result_row *const *)a,
                            *y = *(const struct result_row *const *)b;
    int order = strcmp(x->timestamp, y->timestamp);
    return order ? order : x < y ? -1 : x > y;
}

static void add_history(struct model *m, struct benches *b) {
    size_t *case_of = memory_resize(NULL, b->n, sizeof *case_of);
    for (size_t k = 0; k < m->n; k++) case_of[m->cases[k].bench - b->all] = k;
    for (size_t f = 0; f < m->n_files; f++)
        for (size_t i = 0; i < m->files[f].n; i++) {
            const struct result_row *r = &m->files[f].rows[i];
            bool timed = r->role == ROLE_tuned && nights_have(r) && isfinite(r->median_us) &&
                         strlen(r->timestamp) >= 20;
            const struct bench *of = timed ? benches_find(b, r) : NULL;
            if (!of) continue;
            struct case_ *c = &m->cases[case_of[of - b->all]];
            if (!(c->n_history & (c->n_history + 1)))
                c->history = memory_resize(c->history, 2 * c->n_history + 1, sizeof *c->history);
            c->history[c->n_history++] = r;
        }
    for (size_t k = 0; k < m->n; k++)
        if (m->cases[k].n_history)
            qsort(m->cases[k].history, m->cases[k].n_history, sizeof *m->cases[k].history,
                  by_timestamp);
    free(case_of);
}

/* ---- cases ----------------------------------------------------------------------------------- */

const struct result_row *case_opponent(const struct case_ *c, enum opponent o) {
    const struct bench *b = c->bench;
    switch (o) {
    case OPPONENT_UNFUSED: return b->role[ROLE_eager];
    case OPPONENT_DEFAULT: return b->role[ROLE_default];
    case OPPONENT_TORCH_EAGER: return b->role[ROLE_torch_eager];
    case OPPONENT_TORCH_COMPILE:
    case OPPONENT_MAX_AUTOTUNE:
        for (size_t i = 0; i < b->n_compiled; i++)
            if ((strstr(b->compiled[i]->config, "max-autotune") != NULL) ==
                (o == OPPONENT_MAX_AUTOTUNE))
                return b->compiled[i];
        break;
    case OPPONENT_COUNT: break;
    }
    return NULL;
}

struct estimate case_speedup(const struct case_ *c, enum opponent o) {
    const struct result_row *from = case_opponent(c, o);
    if (!from || !c->ours || from == c->ours) return (struct estimate){NAN, NAN, NAN};
    return speedup_of(from, c->ours);
}

struct mean model_mean(const struct model *m, size_t first, size_t n, enum opponent o) {
    struct mean mean = {0};
    for (size_t i = first; i < first + n; i++) {
        struct estimate s = case_speedup(&m->cases[i], o);
        if (!isfinite(s.value)) continue;
        mean.value += log(s.value);
        mean.n++;
        mean.wins += speedup_sign(&s) > 0;
        mean.losses += speedup_sign(&s) < 0;
    }
    mean.value = mean.n ? exp(mean.value / (double)mean.n) : NAN;
    return mean;
}

static void describe(struct case_ *c, const struct bench *b) {
    const struct result_row *tuned = b->role[ROLE_tuned], *dflt = b->role[ROLE_default];
    c->bench = b;
    c->ours = result_row_measured(tuned) ? tuned : result_row_measured(dflt) ? dflt : NULL;
    const struct result_row *last = tuned ? tuned : dflt;
    if (last && last->status == STATUS_implausible && last->median_us > 0) c->claimed = last;
    bench_type(&c->type, b->key);
    if (strcmp(b->key->mode, "fwd") != 0) text_printf(&c->type, " %s", b->key->mode);
    text_puts(&c->axes, string(b->key->axes));
}

static void add_device(struct model *m, const char *name) {
    for (size_t i = 0; i < m->n_devices; i++)
        if (!strcmp(m->devices[i], name)) return;
    m->devices = memory_resize(m->devices, m->n_devices + 1, sizeof *m->devices);
    m->devices[m->n_devices++] = name;
}

static int by_name(const void *a, const void *b) {
    const struct case_ *x = a, *y = b;
    const struct result_row *k = x->bench->key, *l = y->bench->key;
    int order = strcmp(k->workload, l->workload);
    if (!order) order = strcmp(k->device, l->device);
    if (!order) order = strcmp(text_str(&x->type), text_str(&y->type));
    if (!order) order = strcmp(k->axes, l->axes);
    return order;
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

struct word {
    const char *p;
    size_t n;
};

/* The word of `text` at *p, which moves behind it; n is 0 at the end. */
static struct word next_word(const char **p) {
    *p += strspn(*p, " ");
    struct word w = {*p, strcspn(*p, " ")};
    *p += w.n;
    return w;
}

static bool same_word(struct word a, struct word b) { return a.n == b.n && !memcmp(a.p, b.p, a.n); }

/* The one word in which two cases' axes differ, as it stands in a's; n is 0 if they differ in none,
 * or in more. */
static struct word only_difference(const struct case_ *a, const struct case_ *b) {
    const char *p = text_str(&a->axes), *q = text_str(&b->axes);
    struct word found = {0};
    for (;;) {
        struct word x = next_word(&p), y = next_word(&q);
        if (!x.n || !y.n) return x.n == y.n ? found : (struct word){0};
        if (same_word(x, y)) continue;
        const char *equals = memchr(x.p, '=', x.n);
        size_t name = equals ? (size_t)(equals - x.p) + 1 : 0;
        if (found.n || !name || name >= y.n || memcmp(x.p, y.p, name) != 0) return (struct word){0};
        found = x;
    }
}

static bool same_but_axes(const struct case_ *a, const struct case_ *b) {
    return !strcmp(a->bench->key->workload, b->bench->key->workload) &&
           !strcmp(a->bench->key->device, b->bench->key->device) &&
           !strcmp(text_str(&a->type), text_str(&b->type));
}

/* The number after NAME= of a case's axes. */
static double axis_value(const struct case_ *c, struct word axis) {
    for (const char *p = text_str(&c->axes);;) {
        struct word w = next_word(&p);
        if (!w.n) return NAN;
        if (w.n > axis.n && !memcmp(w.p, axis.p, axis.n)) return strtod(w.p + axis.n, NULL);
    }
}

static int by_size(const void *a, const void *b) {
    const struct case_ *x = a, *y = b;
    return x->size < y->size ? -1 : x->size > y->size;
}

/* The cases from `first` to `end` that differ from it in `axis` alone are moved behind it, and
 * become a sweep. */
static size_t gather(struct model *m, size_t first, size_t end, struct word axis) {
    size_t n = 1;
    for (size_t i = first + 1; i < end; i++) {
        struct word w = only_difference(&m->cases[first], &m->cases[i]);
        if (!same_but_axes(&m->cases[first], &m->cases[i]) || w.n <= axis.n ||
            memcmp(w.p, axis.p, axis.n) != 0)
            continue;
        struct case_ moved = m->cases[i];
        memmove(&m->cases[first + n + 1], &m->cases[first + n], (i - first - n) * sizeof moved);
        m->cases[first + n++] = moved;
    }
    for (size_t i = first; i < first + n; i++) m->cases[i].size = axis_value(&m->cases[i], axis);
    qsort(&m->cases[first], n, sizeof *m->cases, by_size);
    return n;
}

/* The axis, "dim=", in which most cases up to `end` differ from `first` alone; n is 0 if they are
 * too few. */
static struct word sweep_axis(const struct model *m, size_t first, size_t end) {
    struct word best = {0};
    size_t most = SWEEP_LEAST - 2;
    for (size_t i = first + 1; i < end; i++) {
        if (!same_but_axes(&m->cases[first], &m->cases[i])) continue;
        struct word w = only_difference(&m->cases[first], &m->cases[i]);
        if (!w.n) continue;
        w.n = strcspn(w.p, "=") + 1;
        size_t n = 0;
        for (size_t k = first + 1; k < end; k++) {
            struct word other = only_difference(&m->cases[first], &m->cases[k]);
            n += same_but_axes(&m->cases[first], &m->cases[k]) && other.n > w.n &&
                 !memcmp(other.p, w.p, w.n) && isfinite(axis_value(&m->cases[k], w));
        }
        if (n > most && isfinite(axis_value(&m->cases[first], w))) most = n, best = w;
    }
    return best;
}

static void find_sweeps(struct model *m, struct workload *w) {
    w->sweeps = m->n_sweeps;
    for (size_t i = w->first; i < w->first + w->n;) {
        struct word axis = sweep_axis(m, i, w->first + w->n);
        if (!axis.n) {
            i++;
            continue;
        }
        size_t n = gather(m, i, w->first + w->n, axis);
        m->sweeps = memory_resize(m->sweeps, m->n_sweeps + 1, sizeof *m->sweeps);
        m->sweeps[m->n_sweeps++] = (struct sweep){axis.p, axis.n - 1, i, n};
        w->n_sweeps++;
        for (size_t k = i; k < i + n; k++) m->cases[k].sweep = w->n_sweeps;
        i += n;
    }
}

/* ---- workloads ------------------------------------------------------------------------------- */

void put_file_name(struct text *out, const char *s) {
    bool gap = false, started = false;
    for (; *s; s++) {
        bool plain = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') ||
                     (*s >= '0' && *s <= '9') || *s == '_' || *s == '.' || *s == '-';
        if (plain && gap && started) text_puts(out, "-");
        started |= plain;
        if (plain) text_write(out, s, 1);
        gap = !plain;
    }
}

static int by_mean(const void *a, const void *b) {
    const struct workload *x = a, *y = b;
    double one = isnan(x->mean) ? -1 : x->mean, other = isnan(y->mean) ? -1 : y->mean;
    if (one != other) return one > other ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Two workloads whose names differ in letters that no file's name has get a number. */
static void name_pages(struct model *m) {
    for (size_t i = 0; i < m->n_workloads; i++) {
        struct workload *w = &m->workloads[i];
        text_puts(&w->page, "workload-");
        put_file_name(&w->page, w->name);
        for (size_t k = 0; k < i; k++)
            if (!strcmp(text_str(&m->workloads[k].page), w->page.p)) {
                text_printf(&w->page, "-%zu", i);
                break;
            }
    }
}

static void find_workloads(struct model *m) {
    for (size_t i = 0; i < m->n; i++) {
        const char *name = m->cases[i].bench->key->workload;
        if (i == 0 || strcmp(name, m->cases[i - 1].bench->key->workload) != 0) {
            m->workloads = memory_resize(m->workloads, m->n_workloads + 1, sizeof *m->workloads);
            m->workloads[m->n_workloads++] = (struct workload){.name = name, .first = i};
        }
        m->workloads[m->n_workloads - 1].n++;
    }
    for (size_t i = 0; i < m->n_workloads; i++) {
        struct workload *w = &m->workloads[i];
        find_sweeps(m, w);
        w->mean = model_mean(m, w->first, w->n, OPPONENT_UNFUSED).value;
    }
    if (m->n_workloads) qsort(m->workloads, m->n_workloads, sizeof *m->workloads, by_mean);
    name_pages(m);
}

void model_build(struct model *m, const struct results *files, size_t n_files, struct benches *b) {
    *m = (struct model){.files = files, .n_files = n_files};
    m->cases = memory_resize(NULL, b->n, sizeof *m->cases);
    for (size_t i = 0; i < b->n; i++) {
        m->cases[m->n] = (struct case_){0};
        describe(&m->cases[m->n++], &b->all[i]);
        add_device(m, b->all[i].key->device);
    }
    if (m->n) qsort(m->cases, m->n, sizeof *m->cases, by_name);
    find_workloads(m);
    add_roofs(m);
    measure_roofs(m);
    judge_peaks(m);
    add_trials(m, b);
    add_history(m, b);
}

void model_free(struct model *m) {
    for (size_t i = 0; i < m->n; i++) {
        free_tuning(&m->cases[i].tuning);
        free(m->cases[i].history);
        text_free(&m->cases[i].type);
        text_free(&m->cases[i].axes);
    }
    for (size_t i = 0; i < m->n_workloads; i++) text_free(&m->workloads[i].page);
    free(m->cases);
    free(m->workloads);
    free(m->sweeps);
    free(m->roofs);
    free(m->devices);
    *m = (struct model){0};
}

/* ---- labels ---------------------------------------------------------------------------------- */

static bool has_word(const char *text, struct word w) {
    for (const char *p = text;;) {
        struct word other = next_word(&p);
        if (!other.n) return false;
        if (same_word(w, other)) return true;
    }
}

/* The first word with a digit that no other device has, as models have. */
void device_short(struct text *out, const struct model *m, const char *device) {
    for (const char *p = device;;) {
        struct word w = next_word(&p);
        if (!w.n) break;
        bool own = false;
        for (size_t i = 0; i < w.n; i++) own |= w.p[i] >= '0' && w.p[i] <= '9';
        for (size_t i = 0; i < m->n_devices && own; i++)
            own = !strcmp(m->devices[i], device) || !has_word(m->devices[i], w);
        if (own) {
            text_write(out, w.p, w.n);
            return;
        }
    }
    text_puts(out, device);
}

/* Letters of UTF-8, not bytes. */
static size_t letters(const char *s, size_t n) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) count += ((unsigned char)s[i] & 0xc0) != 0x80;
    return count;
}

/* The other cases of c's workload, of its device and type or not, all have the word. */
static bool all_have(const struct model *m, const struct case_ *c, struct word w) {
    for (size_t i = 0; i < m->n; i++) {
        const struct case_ *other = &m->cases[i];
        if (strcmp(other->bench->key->workload, c->bench->key->workload) == 0 &&
            !has_word(text_str(&other->axes), w))
            return false;
    }
    return true;
}

/* What differs between the cases of a workload comes first: the end is what is left out. */
static void put_axes(struct text *out, const struct model *m, const struct case_ *c) {
    for (int shared = 0; shared < 2; shared++)
        for (const char *p = text_str(&c->axes);;) {
            struct word w = next_word(&p);
            if (!w.n) break;
            if (all_have(m, c, w) != shared) continue;
            text_puts(out, " ");
            text_write(out, w.p, w.n);
        }
}

void case_label(struct text *out, const struct model *m, const struct case_ *c, bool with_workload,
                size_t most) {
    struct text all = {0};
    if (with_workload) text_printf(&all, "%s ", c->bench->key->workload);
    text_puts(&all, text_str(&c->type));
    if (m->n_devices > 1) {
        text_puts(&all, " ");
        device_short(&all, m, c->bench->key->device);
    }
    put_axes(&all, m, c);
    size_t used = 0;
    for (const char *p = all.p;;) {
        struct word w = next_word(&p);
        if (!w.n) break;
        size_t more = letters(w.p, w.n) + 1;
        bool last = !p[strspn(p, " ")];
        if (most && used && used + more + (last ? 0 : 2) > most) {
            text_puts(out, " …");
            break;
        }
        if (used) text_puts(out, " ");
        text_write(out, w.p, w.n);
        used += more;
    }
    text_free(&all);
}

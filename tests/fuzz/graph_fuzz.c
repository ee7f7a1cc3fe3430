/* graph_fuzz.c: random graphs through the whole compiler, until the time is over.
 *
 *     graph_fuzz --seconds 60 [--seed 1] [--found DIR] [--counts FILE]
 *     graph_fuzz --graphs 100 [--seed 1]              a number of graphs instead
 *     graph_fuzz --lower-only --graphs 1000           nothing is run: much faster
 *     graph_fuzz --replay FILE...                     graphs written down before
 *     graph_fuzz --print SEED                         one graph, not checked
 *
 * A bug is shrunk and written to DIR (tests/fuzz/found) as a graph with what went wrong in its
 * comment; the tests replay that folder. The same seed makes the same graphs. With --counts, what
 * was done is added to the sums in FILE. Exit status: 0 no bugs, 1 bugs, 2 a wrong call, 3 no
 * compiler on this machine. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "tests/fuzz/check.h"
#include "tests/fuzz/found.h"
#include "tests/fuzz/gen.h"
#include "tests/fuzz/shrink.h"

enum { BATCH = 8 };
static const struct shrink_budget shrink_budget = {.tests = 250, .seconds = 60};

struct fuzzer {
    struct fuzz_cpu cpu;
    double seconds;
    int64_t graphs;
    uint64_t seed;
    bool lower_only;
    const char *found, *counts_file;
    struct fuzz_counts counts;
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- a bug ----------------------------------------------------------------------------------- */

struct same_bug {
    struct fuzzer *f;
    struct fuzz_case c;
    struct fuzz_verdict v;
};

static bool still_fails(void *ctx, const char *text) {
    struct same_bug *b = ctx;
    struct fuzz_verdict v = {0};
    struct fuzz_counts unused = {0};
    struct fuzz_case c = b->c;
    c.text = text;
    if (fuzz_check_safely(&c, 1, &b->f->cpu, &v, &unused) != 0 || v.finding != b->v.finding)
        return false;
    b->v = v;
    return true;
}

static void handle_bug(struct fuzzer *f, struct arena *a, const struct fuzz_case *c,
                       const struct fuzz_verdict *v) {
    struct same_bug b = {.f = f, .c = *c, .v = *v};
    printf("seed %llu: %s: %s\n", (unsigned long long)c->seed, finding_name(v->finding), v->text);
    f->counts.bugs++;
    const char *small = shrink(a, c->text, still_fails, &b, shrink_budget);
    const char *path = found_write(a, f->found, small, c->seed, &b.v);
    printf("%s\n-> %s\n", small, path ? path : "(cannot be written)");
    fflush(stdout);
}

/* Check n cases; what comes after a bug is checked without it. */
static void check_batch(struct fuzzer *f, struct arena *a, const struct fuzz_case *c, int n) {
    while (n > 0) {
        struct fuzz_verdict v = {0};
        int failed = fuzz_check_safely(c, n, &f->cpu, &v, &f->counts);
        if (failed < 0) return;
        if (failed == n) {
            printf("seeds %llu..: only together: %s: %s\n", (unsigned long long)c->seed,
                   finding_name(v.finding), v.text);
            f->counts.bugs++;
            return;
        }
        handle_bug(f, a, &c[failed], &v);
        c += failed + 1;
        n -= failed + 1;
    }
}

/* ---- runs ------------------------------------------------------------------------------------ */

static const char *graph_text(struct arena *a, uint64_t seed) {
    struct buf b = buf_new(a);
    graph_print(&b, gen_graph(a, seed));
    return b.p;
}

/* What was done since `before`, added to the sums in the file: "graphs 1200" a line. */
static void add_counts(const struct fuzzer *f, const struct fuzz_counts *before) {
    struct fuzz_counts sum = {0};
    char name[32];
    long long n;
    FILE *file = fopen(f->counts_file, "r");
    while (file && fscanf(file, "%31s %lld", name, &n) == 2) {
#define FUZZ_COUNT(field, what)                                                                    \
    if (!strcmp(name, #field)) sum.field = n;
        FUZZ_COUNTS(FUZZ_COUNT)
#undef FUZZ_COUNT
    }
    if (file) fclose(file);
    file = fopen(f->counts_file, "w");
    if (!file) return perror(f->counts_file);
#define FUZZ_COUNT(field, what)                                                                    \
    fprintf(file, #field " %lld\n", (long long)(sum.field + f->counts.field - before->field));
    FUZZ_COUNTS(FUZZ_COUNT)
#undef FUZZ_COUNT
    fclose(file);
}

static void fuzz(struct fuzzer *f) {
    double end = now() + f->seconds;
    uint64_t seed = f->seed * 1000000;
    while (f->graphs > 0 ? f->counts.graphs < f->graphs : now() < end) {
        struct arena *a = arena_new();
        struct fuzz_case c[BATCH];
        for (int i = 0; i < BATCH; i++, seed++)
            c[i] = (struct fuzz_case){
                .text = graph_text(a, seed), .seed = seed, .lower_only = f->lower_only};
        struct fuzz_counts before = f->counts;
        double start = now();
        check_batch(f, a, c, BATCH);
        f->counts.milliseconds += (int64_t)(1e3 * (now() - start));
        if (f->counts_file) add_counts(f, &before);
        arena_free(a);
    }
}

static int replay(struct fuzzer *f, char **paths, int n) {
    for (int i = 0; i < n; i++) {
        struct arena *a = arena_new();
        struct diag d = diag_new(a);
        struct fuzz_case c;
        struct fuzz_verdict v = {0};
        if (!found_read(a, paths[i], &c, &d)) {
            fputs(d.text, stderr);
            arena_free(a);
            return 2;
        }
        bool bug = fuzz_check_safely(&c, 1, &f->cpu, &v, &f->counts) == 0;
        printf("%s: %s%s%s\n", paths[i], finding_name(v.finding), *v.text ? ": " : "", v.text);
        f->counts.bugs += bug;
        arena_free(a);
    }
    return f->counts.bugs ? 1 : 0;
}

static void print_counts(const struct fuzz_counts *c) {
#define FUZZ_COUNT(field, what) printf("%8lld %s\n", (long long)c->field, what);
    FUZZ_COUNTS(FUZZ_COUNT)
#undef FUZZ_COUNT
}

static int usage(void) {
    fputs("usage: graph_fuzz [--lower-only] --seconds N | --graphs N [--seed N] [--found DIR]\n"
          "                  [--counts FILE]\n"
          "       graph_fuzz --replay FILE... | --print SEED\n",
          stderr);
    return 2;
}

int main(int argc, char **argv) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct fuzzer f = {.seed = 1, .found = "tests/fuzz/found"};
    int i = 1, status = 0;
    if (argc > 1 && !strcmp(argv[1], "--lower-only")) f.lower_only = true, i++;
    for (; i + 1 < argc && strcmp(argv[i], "--replay"); i += 2) {
        const char *name = argv[i], *value = argv[i + 1];
        if (!strcmp(name, "--seconds"))
            f.seconds = atof(value);
        else if (!strcmp(name, "--graphs"))
            f.graphs = atoll(value);
        else if (!strcmp(name, "--seed"))
            f.seed = strtoull(value, NULL, 10);
        else if (!strcmp(name, "--found"))
            f.found = value;
        else if (!strcmp(name, "--counts"))
            f.counts_file = value;
        else if (!strcmp(name, "--print"))
            return fputs(graph_text(a, strtoull(value, NULL, 10)), stdout), 0;
        else
            return usage();
    }
    bool replays = i + 1 < argc;
    if ((!replays && i < argc) || (!replays && f.seconds <= 0 && f.graphs <= 0)) return usage();
    omp_set_num_threads(1); /* one core, and a child after a fork has no threads of its parent */
    if (!fuzz_cpu_open(a, &f.cpu, &d)) {
        fputs(d.text, stderr);
        return 3;
    }
    if (replays) {
        status = replay(&f, argv + i + 1, argc - i - 1);
    } else {
        fuzz(&f);
        print_counts(&f.counts);
        status = f.counts.bugs ? 1 : 0;
    }
    fuzz_cpu_close(&f.cpu);
    arena_free(a);
    return status;
}

/* parts.c: of a prelude, what a kernel's text uses: less to compile, and a text that is the same
 * while nothing it uses has changed.
 *
 *   prelude                                            text         parts of it
 *     typedef float k_f32;                               k_exp(x)     #define K_DEVICE ...
 *     #define K_DEVICE static __device__                              K_DEVICE float k_exp(float x)
 * .. K_DEVICE float k_exp(float x) { .. } K_DEVICE float k_log(float x) { .. }
 *
 * A part is one declaration, one #define, or all between an outermost #if and its #endif. It
 * declares names, as functions, types, constants or macros, and mentions others. A text needs each
 * part that declares a name that it mentions (all overloads), and what these mention.
 *
 * Names may be pasted. A macro that has k_wrap_add_##s or k_##name##_l declares or mentions, where
 * it is invoked, what each of the words in the brackets makes of that: K_INT2(x, y, wrap_add)
 * mentions k_wrap_add_l, and k_x_l, which there is not. */
#include <ctype.h>
#include <pthread.h>
#include <string.h>

#include "base/base.h"
#include "emit/emit.h"

struct word {
    const char *at;
    int n;
};
typedef VEC(struct word) words;

struct paste {
    struct word head, tail; /* of k_##name##_l: "k_" and "_l" */
};

struct part {
    const char *at;
    size_t n;
    bool always;        /* declares nothing: an #include */
    words names, words; /* what it declares, and mentions */
    VEC(struct paste) pastes;
};

struct prelude {
    struct arena *arena;
    const char *p; /* what has not been read yet */
    VEC(struct part) parts;
    struct map macros;                       /* that paste -> part */
    struct map of_name;                      /* -> index of a list in `lists` */
    VEC(struct { VEC(uint32_t) at; }) lists; /* parts that declare the name */
};

/* ---- words ----------------------------------------------------------------------------------- */

static bool in_word(char c) { return isalnum((unsigned char)c) || c == '_'; }
static bool is_name(struct word w) { return !isdigit((unsigned char)*w.at); }
static bool is(struct word w, const char *text) {
    return w.n == (int)strlen(text) && !memcmp(w.at, text, (size_t)w.n);
}
static struct word word_at(const char *p) {
    struct word w = {p, 0};
    while (in_word(p[w.n])) w.n++;
    return w;
}

/* Behind the blanks, comments and continued lines at p. */
static const char *skip(const char *p) {
    for (;;) {
        if (isspace((unsigned char)*p) || (*p == '\\' && p[1] == '\n')) {
            p++;
        } else if (p[0] == '/' && p[1] == '*') {
            p = strstr(p, "*/") + 2;
        } else {
            return p;
        }
    }
}

/* Behind the word, number, text or sign at p. */
static const char *next(const char *p) {
    if (in_word(*p)) return p + word_at(p).n;
    if (*p != '"' && *p != '\'') return p + 1;
    for (char quote = *p++; *p != quote; p++)
        if (*p == '\\') p++;
    return p + 1;
}

/* The line's end, behind all its continuations. */
static const char *line_end(const char *p) {
    while (*p != '\n' || p[-1] == '\\') p++;
    return p;
}

/* ---- reading a part -------------------------------------------------------------------------- */

static void note_paste(struct prelude *x, struct part *part, struct word head) {
    struct paste paste = {.head = head};
    const char *behind = head.at + head.n + 2;
    behind += word_at(behind).n;
    if (!strncmp(behind, "##", 2)) paste.tail = word_at(behind + 2);
    vec_push(x->arena, &part->pastes, paste);
}

static void note_words(struct prelude *x, struct part *part) {
    for (const char *p = skip(part->at); p < part->at + part->n; p = skip(next(p))) {
        struct word w = word_at(p);
        if (!w.n || !is_name(w)) continue;
        vec_push(x->arena, &part->words, w);
        if (!strncmp(w.at, "k_", 2) && !strncmp(p + w.n, "##", 2)) note_paste(x, part, w);
    }
}

static void declare(struct prelude *x, struct part *part, struct word w) {
    if (is_name(w) && strncmp(w.at, "__", 2)) vec_push(x->arena, &part->names, w);
}

/* K_WHOLE(k_floor_v, 1, floorf) declares its first, if that is a name of ours. */
static const char *read_invocation(struct prelude *x, struct part *part, const char *p) {
    p += word_at(p).n + 1;
    if (!strncmp(p, "k_", 2)) declare(x, part, word_at(p));
    for (int depth = 1; depth; p = next(p)) depth += (*p == '(') - (*p == ')');
    return p;
}

/* Of template <typename T, int N = 1>; shifts are in brackets there. */
static const char *behind_angles(const char *p) {
    int depth = 0;
    do {
        p = skip(p);
        depth += (*p == '<') - (*p == '>');
        p = next(p);
    } while (depth);
    return p;
}

/* A declaration, up to its `;` or the `}` of a function's body. Outside of all brackets, a name is
 * declared if it stands before `(`, `[` or `=`, or behind `struct`; in a typedef, before `,` or
 * `;`. */
static const char *read_declaration(struct prelude *x, struct part *part, const char *p) {
    bool type = is(word_at(p), "typedef"), constants = is(word_at(p), "enum"), body = false;
    int braces = 0, brackets = 0;
    struct word before = {"", 0};
    for (char last = ';';; p = skip(p)) {
        struct word w = word_at(p);
        if (is(w, "template")) {
            p = behind_angles(p + w.n);
            continue;
        }
        if (w.n) {
            char after = *skip(p + w.n);
            bool named = is(before, "struct") || after == '(' || after == '[' || after == '=';
            if (constants || (!type && !braces && !brackets && named)) declare(x, part, w);
            if (!brackets && strncmp(w.at, "__", 2)) before = w;
        } else {
            if (*p == '{' && !braces++) body = last == ')';
            if (*p == '}' && !--braces && body) return p + 1;
            bool ends = !braces && !brackets && (*p == ';' || *p == ',');
            if (type && ends) declare(x, part, before);
            if (*p == ';' && !braces) return p + 1;
            brackets += (*p == '(') - (*p == ')');
        }
        if (*p == '#') { /* #pragma unroll, #ifdef WS_EMULATOR: inside of a body */
            p = line_end(p);
            continue;
        }
        last = *p;
        p = next(p);
    }
}

static bool is_invocation(const char *p) {
    struct word w = word_at(p);
    for (int i = 0; i < w.n; i++)
        if (islower((unsigned char)w.at[i])) return false;
    return w.n && *skip(p + w.n) == '(';
}

static const char *read_item(struct prelude *x, struct part *part, const char *p);

/* Up to the #endif that belongs to the #if at p. */
static const char *read_group(struct prelude *x, struct part *part, const char *p) {
    for (p = skip(line_end(p));;) {
        if (*p == '#' && !strncmp(p, "#endif", 6)) return line_end(p);
        if (*p == '#' && !strncmp(p, "#el", 3))
            p = skip(line_end(p));
        else
            p = skip(read_item(x, part, p));
    }
}

static const char *read_item(struct prelude *x, struct part *part, const char *p) {
    if (!strncmp(p, "#if", 3)) return read_group(x, part, p);
    if (!strncmp(p, "#define", 7)) declare(x, part, word_at(skip(p + 7)));
    if (*p == '#') return line_end(p);
    return is_invocation(p) ? read_invocation(x, part, p) : read_declaration(x, part, p);
}

/* ---- reading a prelude ----------------------------------------------------------------------- */

static void add_pasted(struct prelude *x, struct part *part, const struct part *macro,
                       struct word w) {
    for (uint32_t i = 0; i < macro->pastes.n; i++) {
        struct word head = macro->pastes.at[i].head, tail = macro->pastes.at[i].tail;
        const char *name = arena_printf(x->arena, "%.*s%.*s%.*s", head.n, head.at, w.n, w.at,
                                        tail.n, tail.n ? tail.at : "");
        vec_push(x->arena, &part->words, word_at(name));
        if (is_invocation(part->at)) vec_push(x->arena, &part->names, word_at(name));
    }
}

/* Of each macro that the part invokes. */
static void find_pasted(struct prelude *x, struct part *part) {
    uint32_t n = part->words.n;
    for (uint32_t i = 0; i < n; i++) {
        struct word w = part->words.at[i];
        const char *p = w.at + w.n;
        uint64_t at;
        if (*p != '(' || !map_get(&x->macros, w.at, (size_t)w.n, &at)) continue;
        const struct part *macro = &x->parts.at[at];
        if (macro == part) continue;
        for (int depth = 0; depth += (*p == '(') - (*p == ')'), depth; p = next(p))
            if (word_at(p).n) add_pasted(x, part, macro, word_at(p));
    }
}

static void index_names(struct prelude *x, uint32_t part) {
    const words *names = &x->parts.at[part].names;
    for (uint32_t i = 0; i < names->n; i++) {
        const char *at = names->at[i].at;
        size_t n = (size_t)names->at[i].n;
        uint64_t list = x->lists.n;
        if (!map_get(&x->of_name, at, n, &list)) {
            map_put(&x->of_name, at, n, list);
            vec_push(x->arena, &x->lists, (__typeof__(*x->lists.at)){{0}});
        }
        vec_push(x->arena, &x->lists.at[list].at, part);
    }
}

static void read_prelude(struct prelude *x, const char *text) {
    x->arena = arena_new();
    x->macros = map_new(x->arena);
    x->of_name = map_new(x->arena);
    for (const char *p = skip(text); *p;) {
        struct part part = {.at = p};
        p = read_item(x, &part, p);
        part.n = (size_t)(p - part.at);
        note_words(x, &part);
        if (part.pastes.n)
            map_put(&x->macros, part.names.at[0].at, (size_t)part.names.at[0].n, x->parts.n);
        vec_push(x->arena, &x->parts, part);
        p = skip(p);
    }
    for (uint32_t i = 0; i < x->parts.n; i++) {
        find_pasted(x, &x->parts.at[i]);
        x->parts.at[i].always = !x->parts.at[i].names.n;
        index_names(x, i);
    }
}

static struct prelude preludes[2]; /* of C, of CUDA; constant once read */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void read_both(void) {
    read_prelude(&preludes[0], prelude_c);
    read_prelude(&preludes[1], prelude_cuda);
}

/* ---- what a text needs ----------------------------------------------------------------------- */

struct need {
    const struct prelude *x;
    struct arena *arena;
    struct map seen;    /* words */
    bool *needed;       /* by part */
    VEC(uint32_t) left; /* needed parts that have not been looked at */
};

static void need_part(struct need *n, uint32_t part) {
    if (n->needed[part]) return;
    n->needed[part] = true;
    vec_push(n->arena, &n->left, part);
}

static void need_word(struct need *n, struct word w) {
    uint64_t list;
    if (!map_put(&n->seen, w.at, (size_t)w.n, 0)) return;
    if (map_get(&n->x->of_name, w.at, (size_t)w.n, &list))
        for (uint32_t i = 0; i < n->x->lists.at[list].at.n; i++)
            need_part(n, n->x->lists.at[list].at.at[i]);
}

const char *prelude_parts(struct arena *a, bool cuda, const char *text) {
    pthread_once(&once, read_both);
    const struct prelude *x = &preludes[cuda];
    struct need n = {
        .x = x, .arena = a, .seen = map_new(a), .needed = NEW_ARRAY(a, bool, x->parts.n)};
    for (uint32_t i = 0; i < x->parts.n; i++)
        if (x->parts.at[i].always) need_part(&n, i);
    for (const char *p = skip(text); *p; p = skip(next(p)))
        if (in_word(*p)) need_word(&n, word_at(p));
    for (uint32_t i = 0; i < n.left.n; i++) {
        const struct part *part = &x->parts.at[n.left.at[i]];
        for (uint32_t k = 0; k < part->words.n; k++) need_word(&n, part->words.at[k]);
    }
    struct buf out = buf_new(a);
    for (uint32_t i = 0; i < x->parts.n; i++)
        if (n.needed[i]) {
            buf_write(&out, x->parts.at[i].at, x->parts.at[i].n);
            buf_putc(&out, '\n');
        }
    return out.p;
}

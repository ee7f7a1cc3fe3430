/* ops.c: ops.def as data. The schema of each row is parsed once into a struct op_info:
 *
 *   "self:T dim:D[]?=None keepdim:B=False"
 *     -> {"self", 'T'}, {"dim", 'D', list, optional, default None}, {"keepdim", 'B', default False}
 *
 * The table is the one static of this folder: constant once built, and built under pthread_once, so
 * that any number of compiles may run at a time. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "graph/graph.h"

enum { MAX_SCHEMA = 256 };

static const struct op_info rows[OP_COUNT] = {
#define OP(id_, name_, class_, schema_, dtype_, ref_, code_, traits_, python_)                     \
    {.id = OP_##id_,                                                                               \
     .name = name_,                                                                                \
     .class = class_,                                                                              \
     .dtype = RULE_##dtype_,                                                                       \
     .schema = schema_,                                                                            \
     .code = code_,                                                                                \
     .python = python_,                                                                            \
     .elementwise = (class_) == POINTWISE || sizeof #ref_ != sizeof "0"},
#include "graph/ops.def"
#undef OP
};

static struct op_info table[OP_COUNT];
static char text[OP_COUNT]
                [MAX_SCHEMA]; /* schemas cut into words; names and defaults point into them */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static struct arg parse_default(const struct param *p, char *s) {
    struct arg a = {.kind = ARG_NONE};
    size_t n = strlen(s);
    if (!strcmp(s, "None")) return a;
    if (!strcmp(s, "()")) {
        a.kind = ARG_INTS;
        a.ints.at = NULL;
        a.ints.n = 0;
    } else if (p->kind == 'B') {
        a.kind = ARG_BOOL;
        a.b = !strcmp(s, "True");
    } else if (p->kind == 's') {
        s[n - 1] = 0; /* the closing quote */
        a.kind = ARG_STR;
        a.s = s + 1;
    } else {
        a.kind = p->kind == 'F' || strpbrk(s, ".e") ? ARG_FLOAT : ARG_INT;
        a.f = strtod(s, NULL);
    }
    return a;
}

/* "dim:D[]?=None" */
static struct param parse_param(char *s) {
    struct param p = {.name = s};
    char *kind = strchr(s, ':'), *def = strchr(s, '=');
    *kind++ = 0;
    if (def) *def++ = 0;
    p.kind = strncmp(kind, "T|S", 3) ? kind[0] : '|';
    p.list = strstr(kind, "[]") != NULL;
    p.optional = strchr(kind, '?') != NULL;
    p.has_default = def != NULL;
    if (def) p.def = parse_default(&p, def);
    return p;
}

static void parse_schema(struct op_info *op, char *s, const char *schema) {
    WS_ASSERT(strlen(schema) < MAX_SCHEMA);
    strcpy(s, schema);
    char *save = NULL;
    for (char *word = strtok_r(s, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        struct param p = parse_param(word);
        if (p.kind == '_') {
            WS_ASSERT(op->n_dropped < MAX_DROPPED);
            op->dropped[op->n_dropped++] = p.name;
        } else {
            WS_ASSERT(op->n_params < MAX_PARAMS);
            op->params[op->n_params++] = p;
        }
    }
}

static void build_table(void) {
    for (int i = 0; i < OP_COUNT; i++) {
        table[i] = rows[i];
        parse_schema(&table[i], text[i], rows[i].schema);
    }
}

const struct op_info *op_info(enum op op) {
    pthread_once(&once, build_table);
    return &table[op];
}

bool op_find(const char *name, enum op *out) {
    for (int i = 0; i < OP_COUNT; i++)
        if (!strcmp(rows[i].name, name)) return *out = (enum op)i, true;
    return false;
}

/* Does the blank-separated list hold this word? */
static bool lists_word(const char *list, const char *word, size_t n) {
    for (const char *p = list; *p; p += strspn(p, " ")) {
        size_t len = strcspn(p, " ");
        if (len == n && !memcmp(p, word, n)) return true;
        p += len;
    }
    return false;
}

bool op_find_python(const char *name, enum op *out) {
    char sign[16];
    if (!strncmp(name, "op:r", 4) && name[4] && !strchr("abcdefghijklmnopqrstuvwxyz", name[4]) &&
        strlen(name) < sizeof sign) {
        strcpy(sign, "op:");
        strcat(sign, name + 4);
        name = sign;
    }
    for (int i = 0; i < OP_COUNT; i++)
        if (lists_word(rows[i].python, name, strlen(name))) return *out = (enum op)i, true;
    return false;
}

/* ---- suggestions ----------------------------------------------------------------------------- */

enum { SUGGESTIONS = 3, MAX_NAME = 64 };

/* How far another name may be to be worth saying: a letter of each three, and of short names one,
 * in the same module. */
static int farthest(const char *leaf) {
    int letters = (int)strlen(leaf) / 3;
    return 2 * (letters > 1 ? letters : 1);
}

struct suggestion {
    const char *name;
    size_t n;
    int far;
};

/* Keep the nearest few, nearest first; on a tie the one that comes first in the table. */
static void offer(struct suggestion best[SUGGESTIONS], struct suggestion s) {
    for (int i = 0; i < SUGGESTIONS; i++) {
        if (best[i].name && best[i].far <= s.far) continue;
        memmove(best + i + 1, best + i, sizeof *best * (size_t)(SUGGESTIONS - 1 - i));
        best[i] = s;
        return;
    }
}

const char *op_suggest(struct arena *a, const char *python_name) {
    const char *dot = strrchr(python_name, '.');
    const char *leaf = dot ? dot + 1 : python_name;
    size_t home = (size_t)(leaf - python_name);
    struct suggestion best[SUGGESTIONS] = {0};
    for (int i = 0; i < OP_COUNT; i++)
        for (const char *p = rows[i].python; *p; p += strspn(p, " ")) {
            size_t n = strcspn(p, " ");
            const char *end = p + n, *name = p;
            for (const char *q = p; q < end; q++)
                if (*q == '.') name = q + 1;
            /* The leaf decides; among equals, the same module is nearer. */
            bool away = (size_t)(name - p) != home || memcmp(p, python_name, home);
            int far = 2 * words_distance(leaf, strlen(leaf), name, (size_t)(end - name)) + away;
            if (far <= farthest(leaf)) offer(best, (struct suggestion){p, n, far});
            p = end;
        }
    struct buf b = buf_new(a);
    for (int i = 0; i < SUGGESTIONS && best[i].name; i++) {
        if (i) buf_puts(&b, ", ");
        buf_write(&b, best[i].name, best[i].n);
    }
    return b.p;
}

/* found.c: see found.h. */
#include "tests/fuzz/found.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *file_name(struct arena *a, enum finding f) {
    static const char *const names[] = {
#define FINDING(id, printed) [FOUND_##id] = #id,
        FINDINGS(FINDING)
#undef FINDING
    };
    char *name = arena_strdup(a, names[f]);
    for (char *p = name; *p; p++) *p |= 0x20;
    return name;
}

const char *found_write(struct arena *a, const char *folder, const char *graph, uint64_t seed,
                        const struct fuzz_verdict *v) {
    enum { MAX_LINES = 12 }; /* of a long message */
    mkdir(folder, 0777);
    char *path = arena_printf(a, "%s/%s_%04x.graph", folder, file_name(a, v->finding),
                              (unsigned)(hash_bytes(graph, strlen(graph)) & 0xffff));
    FILE *f = fopen(path, "w");
    if (!f) return NULL;
    fprintf(f, "# %s: ", finding_name(v->finding));
    size_t n = strlen(v->text), lines = 1;
    while (n && v->text[n - 1] == '\n') n--;
    for (const char *p = v->text; p < v->text + n && lines <= MAX_LINES; p++) {
        fputc(*p, f);
        if (*p == '\n' && lines++ < MAX_LINES) fputs("# ", f);
    }
    fprintf(f, "\n# seed %llu\n%s", (unsigned long long)seed, graph);
    return fclose(f) == 0 ? path : NULL;
}

bool found_read(struct arena *a, const char *path, struct fuzz_case *c, struct diag *d) {
    const struct source *s = source_read(a, path, d);
    if (!s) return false;
    const char *seed = strstr(s->text, "# seed ");
    *c = (struct fuzz_case){
        .text = s->text, .seed = seed ? strtoull(seed + 7, NULL, 10) : 1, .thorough = true};
    return true;
}

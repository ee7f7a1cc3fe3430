/* diag.c: formatting of errors, with the source line and a caret. */
#include "base/diag.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/shown.h"

struct diag diag_new(struct arena *a) {
    return (struct diag){.arena = a};
}

enum ws_status diag_fail(struct diag *d, enum ws_status s, const char *fmt, ...) {
    if (d->status != WS_OK) return d->status;
    d->status = s;
    va_list ap;
    va_start(ap, fmt);
    struct buf b = buf_new(d->arena);
    d->message = arena_vprintf(d->arena, fmt, ap);
    va_end(ap);
    shown_text(&b, d->message);
    buf_putc(&b, '\n');
    d->text = b.p;
    return s;
}

/* Where a line begins; NULL: there is no such. */
static const char *line_start(const struct source *src, uint32_t line) {
    const char *p = src->text;
    for (; p && line > 1; line--) {
        p = strchr(p, '\n');
        p += p != NULL;
    }
    return p;
}

struct span source_line(const struct source *src, uint32_t line) {
    const char *p = line_start(src, line);
    if (!p) return (struct span){0};
    uint32_t indent = (uint32_t)strspn(p, " \t"), n = (uint32_t)strcspn(p, "\r\n");
    return (struct span){line, indent + 1, n + 1};
}

/* The source line and a caret line under it. */
static void put_caret(struct buf *b, const struct source *src, struct span at) {
    const char *p = line_start(src, at.line);
    if (!p) return;
    size_t n = strcspn(p, "\r\n");
    uint32_t col = at.col ? at.col : 1, end = at.end_col > col ? at.end_col : col + 1;
    shown_line(b, p, n, col - 1, end - 1, "    ");
}

enum ws_status diag_fail_at(struct diag *d, enum ws_status s, const struct source *src,
                            struct span at, const char *fmt, ...) {
    if (d->status != WS_OK) return d->status;
    d->status = s;
    struct buf b = buf_new(d->arena);
    if (src) shown_text(&b, src->path);
    if (src) buf_putc(&b, ':');
    if (src && at.line) buf_printf(&b, "%u:%u:", at.line, at.col ? at.col : 1);
    if (src) buf_putc(&b, ' ');
    va_list ap;
    va_start(ap, fmt);
    d->message = arena_vprintf(d->arena, fmt, ap);
    va_end(ap);
    shown_text(&b, d->message);
    buf_putc(&b, '\n');
    if (src && at.line) put_caret(&b, src, at);
    d->text = b.p;
    return s;
}

void ws_bug(const char *file, int line, const char *fmt, ...) {
    fprintf(stderr, "warpsmith: bug at %s:%d: ", file, line);
    va_list ap;
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    abort();
}

const struct source *source_read(struct arena *a, const char *path, struct diag *d) {
    struct stat st;
    bool found = stat(path, &st) == 0, regular = found && S_ISREG(st.st_mode);
    FILE *f = regular ? fopen(path, "rb") : NULL; /* opening a pipe would wait for its writer */
    if (!f) {
        diag_fail(d, WS_USAGE, "cannot read '%s': %s", path,
                  found && !regular ? "not a regular file" : strerror(errno));
        return NULL;
    }
    char *text = arena_alloc(a, (size_t)st.st_size + 1);
    size_t n = fread(text, 1, (size_t)st.st_size, f);
    fclose(f);
    struct source *s = NEW(a, struct source);
    *s = (struct source){arena_strdup(a, path), text, n};
    return s;
}

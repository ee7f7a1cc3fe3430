/* checkpoint_zip.c: zip archives whose records are stored as they are (checkpoint.h).
 *
 *   local header, name, padding to 64 bytes, bytes; the next record; ...
 *   a directory of all; its end, with 64-bit fields where they need be */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/checkpoint.h"

enum {
    LOCAL = 0x04034b50,
    CENTRAL = 0x02014b50,
    END = 0x06054b50,
    END64 = 0x06064b50,
    LOCATOR64 = 0x07064b50,
    LOCAL_BYTES = 30,
    CENTRAL_BYTES = 46,
    END_BYTES = 22,
    LOCATOR_BYTES = 20,
    END64_BYTES = 56,
    MOST_COMMENT = 65535,
    ALIGNMENT = 64,
};

static uint64_t get(const unsigned char *p, int n) {
    uint64_t v = 0;
    for (int i = n; i-- > 0;) v = v << 8 | p[i];
    return v;
}

static void put(struct buf *b, uint64_t v, int n) {
    for (int i = 0; i < n; i++) buf_putc(b, (char)(v >> 8 * i & 255));
}

/* -- reading ------------------------------------------------------------------------------- */

static void broken(struct vm *vm, const char *path, const char *why) __attribute__((noreturn));
static void broken(struct vm *vm, const char *path, const char *why) {
    vm_raise(vm, EXC_RuntimeError, "torch.load: %s is not what torch.save writes: %s", path, why);
}

static bool read_at(FILE *f, uint64_t at, void *to, uint64_t n) {
    return at <= INT64_MAX && !fseeko(f, (off_t)at, SEEK_SET) && fread(to, 1, n, f) == n;
}

/* n bytes of the file; it is closed before anything can be raised. */
static bool read_part(const char *path, uint64_t at, void *to, uint64_t n) {
    FILE *f = fopen(path, "rb");
    bool ok = f && read_at(f, at, to, n);
    if (f) fclose(f);
    return ok;
}

static uint64_t file_bytes(struct vm *vm, const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) vm_raise(vm, EXC_FileNotFoundError, "[Errno 2] No such file or directory: '%s'", path);
    off_t n = fseeko(f, 0, SEEK_END) ? -1 : ftello(f);
    fclose(f);
    if (n < 0) broken(vm, path, "it has no size");
    return (uint64_t)n;
}

struct directory {
    uint64_t at, bytes, n;
};

/* Of 64-bit fields, if the end points to them. end_at: where the end lies. */
static bool find_end64(const char *path, uint64_t end_at, struct directory *d) {
    unsigned char locator[LOCATOR_BYTES], end[END64_BYTES];
    if (end_at < LOCATOR_BYTES ||
        !read_part(path, end_at - LOCATOR_BYTES, locator, sizeof locator) ||
        get(locator, 4) != LOCATOR64 || !read_part(path, get(locator + 8, 8), end, sizeof end) ||
        get(end, 4) != END64)
        return false;
    *d = (struct directory){get(end + 48, 8), get(end + 40, 8), get(end + 32, 8)};
    return true;
}

static struct directory find_directory(struct vm *vm, const char *path, uint64_t size) {
    uint64_t n = size < END_BYTES + MOST_COMMENT ? size : END_BYTES + MOST_COMMENT;
    unsigned char *tail = NEW_ARRAY(vm->arena, unsigned char, n + 1);
    if (n < END_BYTES || !read_part(path, size - n, tail, n)) broken(vm, path, "it is too short");
    uint64_t at = n - END_BYTES;
    while (at && get(tail + at, 4) != END) at--;
    const unsigned char *end = tail + at;
    if (get(end, 4) != END) broken(vm, path, "it is no zip archive");
    struct directory d = {get(end + 16, 4), get(end + 12, 4), get(end + 10, 2)};
    find_end64(path, size - n + at, &d);
    if (d.at > size || d.bytes > size - d.at || d.n > d.bytes / CENTRAL_BYTES)
        broken(vm, path, "its directory lies outside of it");
    return d;
}

/* A field that did not fit stands in the extra fields, one after the other. */
static void widen(uint64_t *v, const unsigned char **extra, const unsigned char *end) {
    if (*v != UINT32_MAX || *extra + 8 > end) return;
    *v = get(*extra, 8);
    *extra += 8;
}

static void read_extra(const unsigned char *p, uint64_t n, struct record *r, uint64_t *packed) {
    const unsigned char *end = p + n;
    while (p + 4 <= end) {
        uint64_t id = get(p, 2), len = get(p + 2, 2);
        p += 4;
        if (len > (uint64_t)(end - p)) return;
        const unsigned char *field = p;
        p += len;
        if (id != 1) continue;
        widen(&r->bytes, &field, p);
        widen(packed, &field, p);
        widen(&r->header, &field, p);
    }
}

struct archive *archive_open(struct vm *vm, const char *path) {
    uint64_t size = file_bytes(vm, path);
    struct directory d = find_directory(vm, path, size);
    unsigned char *p = NEW_ARRAY(vm->arena, unsigned char, d.bytes + 1), *end = p + d.bytes;
    if (!read_part(path, d.at, p, d.bytes)) broken(vm, path, "its directory cannot be read");
    struct archive *a = NEW(vm->arena, struct archive);
    *a = (struct archive){.path = path, .bytes = size, .by_name = map_new(vm->arena)};
    for (uint64_t i = 0; i < d.n; i++) {
        vm_tick(vm);
        if (end - p < CENTRAL_BYTES || get(p, 4) != CENTRAL)
            broken(vm, path, "a record has no name");
        uint64_t name = get(p + 28, 2), extra = get(p + 30, 2), comment = get(p + 32, 2);
        if ((uint64_t)(end - p) < CENTRAL_BYTES + name + extra + comment)
            broken(vm, path, "a record has no name");
        struct record r = {.bytes = get(p + 24, 4), .header = get(p + 42, 4)};
        uint64_t packed = get(p + 20, 4);
        read_extra(p + CENTRAL_BYTES + name, extra, &r, &packed);
        const char *full = arena_strndup(vm->arena, (const char *)p + CENTRAL_BYTES, name);
        const char *slash = strchr(full, '/');
        r.name = slash ? slash + 1 : full;
        if (get(p + 10, 2) || packed != r.bytes) broken(vm, path, "a record is compressed");
        if (r.bytes > size || r.header > size) broken(vm, path, "a record lies outside of it");
        map_puts(&a->by_name, r.name, a->records.n);
        vec_push(vm->arena, &a->records, r);
        p += CENTRAL_BYTES + name + extra + comment;
    }
    return a;
}

const struct record *archive_find(const struct archive *a, const char *name) {
    uint64_t i;
    return map_gets(&a->by_name, name, &i) ? &a->records.at[i] : NULL;
}

void archive_read(struct vm *vm, const struct archive *a, const struct record *r, void *to) {
    unsigned char head[LOCAL_BYTES];
    if (!read_part(a->path, r->header, head, sizeof head) || get(head, 4) != LOCAL)
        broken(vm, a->path, "a record has no header");
    uint64_t at = r->header + LOCAL_BYTES + get(head + 26, 2) + get(head + 28, 2);
    if (!read_part(a->path, at, to, r->bytes)) broken(vm, a->path, "a record is cut off");
}

/* -- writing ------------------------------------------------------------------------------- */

struct archive_writer {
    struct arena *arena;
    const char *path;
    FILE *file;
    uint64_t at, n;
    struct buf directory;
};

struct archive_writer *archive_create(struct vm *vm, const char *path) {
    struct archive_writer *w = NEW(vm->arena, struct archive_writer);
    *w = (struct archive_writer){vm->arena, path, fopen(path, "wb"), 0, 0, buf_new(vm->arena)};
    if (!w->file) vm_raise(vm, EXC_OSError, "torch.save: cannot write '%s'", path);
    return w;
}

static uint32_t checksum(const unsigned char *p, uint64_t n) {
    uint32_t table[256], sum = UINT32_MAX;
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int k = 0; k < 8; k++) table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320 : 0);
    }
    for (uint64_t i = 0; i < n; i++) sum = sum >> 8 ^ table[(sum ^ p[i]) & 255];
    return ~sum;
}

static void write_out(struct archive_writer *w, const void *p, uint64_t n) {
    if (n) fwrite(p, 1, n, w->file); /* ferror() is asked at the end */
    w->at += n;
}

/* What local header and directory have in common, from "version needed" on. */
static void put_facts(struct buf *b, uint32_t sum, uint64_t n, uint64_t name, uint64_t extra) {
    put(b, 45, 2);
    put(b, 0x800, 2);              /* names are UTF-8 */
    put(b, 0, 2);                  /* stored */
    put(b, 0, 2), put(b, 0x21, 2); /* midnight of 1980-01-01: the same bytes each time */
    put(b, sum, 4);
    put(b, n < UINT32_MAX ? n : UINT32_MAX, 4);
    put(b, n < UINT32_MAX ? n : UINT32_MAX, 4);
    put(b, name, 2);
    put(b, extra, 2);
}

/* The fields that need 64 bits. */
static void put_wide(struct buf *b, uint64_t n, bool has_header, uint64_t header) {
    bool far = has_header && header >= UINT32_MAX;
    if (n < UINT32_MAX && !far) return;
    put(b, 1, 2);
    put(b, (n < UINT32_MAX ? 0 : 16) + (far ? 8 : 0), 2);
    if (n >= UINT32_MAX) put(b, n, 8), put(b, n, 8);
    if (far) put(b, header, 8);
}

void archive_put(struct archive_writer *w, const char *name, const void *bytes, uint64_t n) {
    uint32_t sum = checksum(bytes, n);
    const char *full = arena_printf(w->arena, "archive/%s", name);
    uint64_t header = w->at, length = strlen(full);
    struct buf local = buf_new(w->arena), extra = buf_new(w->arena), wide = buf_new(w->arena);
    put_wide(&extra, n, false, 0);
    put(&extra, 0x4246, 2); /* "FB": padding, as PyTorch has it */
    uint64_t end = header + LOCAL_BYTES + length + extra.n + 2;
    uint64_t padding = (ALIGNMENT - end % ALIGNMENT) % ALIGNMENT;
    put(&extra, padding, 2);
    for (uint64_t i = 0; i < padding; i++) buf_putc(&extra, 'Z');
    put(&local, LOCAL, 4);
    put_facts(&local, sum, n, length, extra.n);
    buf_write(&local, full, length);
    buf_write(&local, extra.p, extra.n);
    write_out(w, local.p, local.n);
    write_out(w, bytes, n);

    put_wide(&wide, n, true, header);
    put(&w->directory, CENTRAL, 4);
    put(&w->directory, 45, 2);
    put_facts(&w->directory, sum, n, length, wide.n);
    put(&w->directory, 0, 8), put(&w->directory, 0, 2); /* comment, disk, attributes */
    put(&w->directory, header < UINT32_MAX ? header : UINT32_MAX, 4);
    buf_write(&w->directory, full, length);
    buf_write(&w->directory, wide.p, wide.n);
    w->n++;
}

void archive_close(struct vm *vm, struct archive_writer *w) {
    struct buf b = buf_new(w->arena);
    uint64_t at = w->at, bytes = w->directory.n;
    write_out(w, w->directory.p, bytes);
    put(&b, END64, 4), put(&b, END64_BYTES - 12, 8);
    put(&b, 45, 2), put(&b, 45, 2), put(&b, 0, 8);
    put(&b, w->n, 8), put(&b, w->n, 8), put(&b, bytes, 8), put(&b, at, 8);
    put(&b, LOCATOR64, 4), put(&b, 0, 4), put(&b, at + bytes, 8), put(&b, 1, 4);
    put(&b, END, 4), put(&b, 0, 4);
    put(&b, w->n < UINT16_MAX ? w->n : UINT16_MAX, 2);
    put(&b, w->n < UINT16_MAX ? w->n : UINT16_MAX, 2);
    put(&b, bytes < UINT32_MAX ? bytes : UINT32_MAX, 4);
    put(&b, at < UINT32_MAX ? at : UINT32_MAX, 4);
    put(&b, 0, 2);
    write_out(w, b.p, b.n);
    bool ok = !ferror(w->file);
    if (fclose(w->file) || !ok)
        vm_raise(vm, EXC_OSError, "torch.save: '%s' could not be written as a whole", w->path);
}

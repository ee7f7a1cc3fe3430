/* store_trust.c: what a store gives to be run was put there by this user.
 *
 *   folder         nobody else can rename or replace anything on the way to it (path_exposed)
 *   store.db       this user's, -rw-------, and so are its journals
 *   store.db.key   16 random bytes, -rw-------: every binary carries a sum keyed with them, so that
 *                  a file that comes from elsewhere has none that would be loaded
 *
 * A store that is this user's, but that others could read or write until now, is taken back: its
 * mode is tightened. If they could read the key, too, there is a new one, and binaries are compiled
 * again. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tuner/store_tables.h"

enum { OTHERS = 077, OTHERS_WRITE = 022, OWNER_ONLY = 0600 };

/* ---- owners and modes ------------------------------------------------------------------------ */

/* NULL, or what is wrong with a file of the store; *loose: its mode was open to others. */
static const char *take_file(struct arena *a, const char *path, int *loose) {
    struct stat st;
    *loose = 0;
    if (lstat(path, &st) != 0) return NULL;
    if (!S_ISREG(st.st_mode)) return arena_printf(a, "'%s' is no plain file", path);
    if (st.st_uid != geteuid())
        return arena_printf(a, "'%s' belongs to another user (%u)", path, (unsigned)st.st_uid);
    *loose = st.st_mode & OTHERS;
    if (*loose && chmod(path, st.st_mode & ~(unsigned)OTHERS & 07777) != 0 && *loose & OTHERS_WRITE)
        return arena_printf(a, "'%s' can be written by others", path);
    return NULL;
}

const char *store_guard(struct arena *a, const char *path, const char **note) {
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
    const char *slash = strrchr(path, '/');
    const char *folder = slash > path ? arena_strndup(a, path, (size_t)(slash - path)) : "/";
    const char *why = path_exposed(folder, a);
    int loose, all = 0;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes && !why; i++) {
        why = take_file(a, arena_printf(a, "%s%s", path, suffixes[i]), &loose);
        all |= loose;
    }
    if (!why && all & OTHERS_WRITE)
        *note = arena_printf(a, "store: '%s' could be written by others until now\n", path);
    return why;
}

void store_make_file(const char *path) {
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, OWNER_ONLY);
    if (fd >= 0) close(fd);
}

/* ---- the key --------------------------------------------------------------------------------- */

static bool read_key(const char *path, struct store_secret *out) {
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    bool ok = fd >= 0 && fstat(fd, &st) == 0 && st.st_size == sizeof out->bytes &&
              read(fd, out->bytes, sizeof out->bytes) == sizeof out->bytes;
    if (fd >= 0) close(fd);
    return ok;
}

/* A half-written one, of a process that was killed, has another size. */
static bool make_key(const char *path, struct store_secret *out) {
    if (unlink(path) != 0 && errno != ENOENT) return false;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, OWNER_ONLY);
    if (fd < 0) return false;
    bool ok = getrandom(out->bytes, sizeof out->bytes, 0) == sizeof out->bytes &&
              write(fd, out->bytes, sizeof out->bytes) == sizeof out->bytes;
    int why = errno;
    close(fd);
    errno = why;
    return ok;
}

const char *store_open_key(struct arena *a, const char *path, struct store_secret *out) {
    const char *key = arena_printf(a, "%s.key", path);
    int loose;
    const char *why = take_file(a, key, &loose);
    if (why || (!loose && read_key(key, out)) || make_key(key, out)) return why;
    return arena_printf(a, "cannot write '%s': %s", key, strerror(errno));
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* SipHash-2-4 (Aumasson and Bernstein, 2012): who does not have the key cannot make a sum that
 * fits, which no plain checksum promises. */
struct sip {
    uint64_t v[4];
};

static uint64_t rotate(uint64_t x, int by) { return x << by | x >> (64 - by); }

static void sip_rounds(struct sip *s, int n) {
    uint64_t *v = s->v;
    while (n--) {
        v[0] += v[1], v[1] = rotate(v[1], 13) ^ v[0], v[0] = rotate(v[0], 32);
        v[2] += v[3], v[3] = rotate(v[3], 16) ^ v[2];
        v[0] += v[3], v[3] = rotate(v[3], 21) ^ v[0];
        v[2] += v[1], v[1] = rotate(v[1], 17) ^ v[2], v[2] = rotate(v[2], 32);
    }
}

static uint64_t little_endian(const unsigned char *p, size_t n) {
    uint64_t x = 0;
    for (size_t i = 0; i < n; i++) x |= (uint64_t)p[i] << 8 * i;
    return x;
}

static void sip_word(struct sip *s, uint64_t word) {
    s->v[3] ^= word;
    sip_rounds(s, 2);
    s->v[0] ^= word;
}

uint64_t store_keyed_sum(const struct store_secret *secret, const void *bytes, size_t n) {
    const unsigned char *p = bytes;
    uint64_t k0 = little_endian(secret->bytes, 8), k1 = little_endian(secret->bytes + 8, 8);
    struct sip s = {{k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261,
                     k1 ^ 0x7465646279746573}};
    size_t whole = n & ~(size_t)7;
    for (size_t i = 0; i < whole; i += 8) sip_word(&s, little_endian(p + i, 8));
    sip_word(&s, (uint64_t)n << 56 | little_endian(p + whole, n - whole));
    s.v[2] ^= 0xff;
    sip_rounds(&s, 4);
    return s.v[0] ^ s.v[1] ^ s.v[2] ^ s.v[3];
}

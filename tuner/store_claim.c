/* store_claim.c: one process at a time, by flock on a small file beside the store.
 *
 *   store.db  ->  store.db.lock-8f3a...    there while someone tunes, removed afterwards
 *
 * The lock lives with the open file, so a killed owner releases it; the file it leaves behind is
 * removed by whoever opens the store next. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tuner/store_tables.h"

/* Is the locked file still the one of that name? The last owner may have removed it meanwhile. */
static bool is_current(int fd, const char *path) {
    struct stat ours, named;
    return fstat(fd, &ours) == 0 && lstat(path, &named) == 0 && ours.st_ino == named.st_ino &&
           ours.st_dev == named.st_dev;
}

/* In a folder where everybody may make files, another user's lock would be held for ever. */
static int open_own(const char *path, int flags) {
    struct stat st;
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
    if (fd < 0 || (fstat(fd, &st) == 0 && st.st_uid == geteuid())) return fd;
    close(fd);
    errno = EPERM;
    return -1;
}

static int lock(int fd, bool wait) {
    int rc;
    do rc = flock(fd, LOCK_EX | (wait ? 0 : LOCK_NB));
    while (rc != 0 && errno == EINTR);
    return rc;
}

bool claim_file(const char *path, bool wait, struct store_claim *claim) {
    *claim = (struct store_claim){.fd = -1, .path = path};
    for (;;) {
        int fd = open_own(path, O_CREAT);
        if (fd < 0) return false;
        if (lock(fd, wait) != 0) {
            int why = errno;
            close(fd);
            errno = why;
            return why == EWOULDBLOCK;
        }
        if (is_current(fd, path)) {
            claim->held = true;
            claim->fd = fd;
            return true;
        }
        close(fd);
    }
}

static uint64_t key_hash(struct arena *a, const struct store_key *k) {
    struct buf b = buf_new(a);
#define KEY(name, what) buf_puts(&b, k->name), buf_putc(&b, '\n');
    STORE_KEYS(KEY)
#undef KEY
    return hash_bytes(b.p, b.n);
}

enum ws_status store_tune_begin(struct store *s, const struct store_key *k, bool wait,
                                struct store_claim *claim, struct diag *d) {
    const char *path = arena_printf(s->arena, "%s.lock-%016llx", s->path,
                                    (unsigned long long)key_hash(s->arena, k));
    if (claim_file(path, wait, claim)) return WS_OK;
    return diag_fail(d, WS_MACHINE, "cannot lock '%s': %s", path, strerror(errno));
}

/* Removed while still locked: whoever waits for it sees that it is no longer current. */
void store_tune_end(struct store_claim *claim) {
    if (!claim->held) return;
    unlink(claim->path);
    close(claim->fd);
    claim->held = false;
}

/* ---- what killed owners have left ------------------------------------------------------------ */

static bool begins_with(const char *name, const char *with) {
    return strncmp(name, with, strlen(with)) == 0;
}

static void remove_unheld(const char *path) {
    int fd = open_own(path, 0);
    struct store_claim claim = {.held = true, .fd = fd, .path = path};
    if (fd < 0) return;
    if (lock(fd, false) == 0 && is_current(fd, path))
        store_tune_end(&claim);
    else
        close(fd);
}

void claim_sweep(struct arena *a, const char *store_path) {
    const char *slash = strrchr(store_path, '/');
    const char *folder = arena_strndup(a, store_path, (size_t)(slash - store_path + 1));
    const char *locks = arena_printf(a, "%s.lock-", slash + 1);
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (begins_with(e->d_name, locks) && strcmp(e->d_name + strlen(locks), "open") != 0)
            remove_unheld(arena_printf(a, "%s%s", folder, e->d_name));
    if (dir) closedir(dir);
}

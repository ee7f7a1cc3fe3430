/* private.c: owners and modes from the root down.
 *
 *   /        root                               fine
 *   /tmp     root, rwxrwxrwt                    fine: sticky, so nobody renames what is another's
 *   /tmp/d   this user, rwx------               fine
 *   /tmp/d/f this user, rw-rw-r--, own group    fine: the group that a user has alone */
#include "base/private.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *resolve_folder_of(const char *path, struct arena *a) {
    char real[PATH_MAX];
    const char *slash = strrchr(path, '/');
    const char *folder = !slash          ? "."
                         : slash == path ? "/"
                                         : arena_strndup(a, path, (size_t)(slash - path));
    if (!realpath(folder, real)) return NULL;
    return arena_printf(a, "%s/%s", strcmp(real, "/") ? real : "", slash ? slash + 1 : path);
}

const char *path_resolve(const char *path, struct arena *a) {
    char real[PATH_MAX];
    if (realpath(path, real)) return arena_strdup(a, real);
    return errno == ENOENT ? resolve_folder_of(path, a) : NULL;
}

/* Whoever owns "/" can do everything; in a container that is not always user 0. */
static bool is_trusted(uid_t owner) {
    struct stat root;
    return owner == geteuid() || owner == 0 || (stat("/", &root) == 0 && owner == root.st_uid);
}

/* Many systems give each user a group of the same number, with nobody else in it, and let it write
 * by default. */
static bool others_may_write(const struct stat *st) {
    bool own_group = st->st_gid == st->st_uid;
    return st->st_mode & S_IWOTH || (st->st_mode & S_IWGRP && !own_group);
}

static const char *exposed(const char *path, struct arena *a) {
    struct stat st;
    if (lstat(path, &st) != 0)
        return errno == ENOENT ? NULL : arena_printf(a, "'%s': %s", path, strerror(errno));
    if (!is_trusted(st.st_uid))
        return arena_printf(a, "'%s' belongs to another user (%u)", path, (unsigned)st.st_uid);
    bool sticky = S_ISDIR(st.st_mode) && st.st_mode & S_ISVTX;
    if (!S_ISLNK(st.st_mode) && !sticky && others_may_write(&st))
        return arena_printf(a, "'%s' can be written by others (chmod go-w)", path);
    return NULL;
}

const char *path_exposed(const char *path, struct arena *a) {
    const char *real = path_resolve(path, a);
    if (!real) return arena_printf(a, "'%s': %s", path, strerror(errno));
    const char *why = exposed("/", a);
    for (const char *end = real; !why && *end;) {
        end += 1 + strcspn(end + 1, "/");
        why = exposed(arena_strndup(a, real, (size_t)(end - real)), a);
    }
    return why;
}

/* folder.c: listing and making folders, writing whole files. */
#include "tuner/folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool ends_in(const char *name, const char *suffix) {
    size_t n = strlen(name), s = strlen(suffix);
    return n > s && !strcmp(name + n - s, suffix);
}

struct texts folder_list(struct arena *a, const char *path, const char *suffix) {
    struct texts out = {0};
    DIR *dir = opendir(path);
    if (!dir) return out;
    int cap = 0;
    for (struct dirent *e; (e = readdir(dir));) {
        if (!ends_in(e->d_name, suffix)) continue;
        if (out.n == cap) {
            const char **more = NEW_ARRAY(a, const char *, cap = 2 * cap + 16);
            if (out.n) memcpy(more, out.at, sizeof *more * (size_t)out.n);
            out.at = more;
        }
        out.at[out.n++] = arena_strdup(a, e->d_name);
    }
    closedir(dir);
    if (out.n) qsort(out.at, (size_t)out.n, sizeof *out.at, by_name);
    return out;
}

enum ws_status folder_make(struct arena *a, const char *path, struct diag *d) {
    char *p = arena_strdup(a, path);
    for (char *slash = p + 1; *p && (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(p, 0777); /* what went wrong shows at the last one */
        *slash = '/';
    }
    struct stat st;
    if (mkdir(p, 0777) != 0 && errno != EEXIST)
        return diag_fail(d, WS_MACHINE, "cannot make the folder '%s': %s", path, strerror(errno));
    if (stat(p, &st) == 0 && !S_ISDIR(st.st_mode))
        return diag_fail(d, WS_MACHINE, "'%s' is no folder", path);
    if (access(p, W_OK | X_OK) != 0)
        return diag_fail(d, WS_MACHINE, "cannot write to the folder '%s': %s", path,
                         strerror(errno));
    return WS_OK;
}

int64_t folder_free_bytes(const char *path) {
    struct statvfs v;
    if (statvfs(path, &v) != 0) return -1;
    return (int64_t)v.f_bavail * (int64_t)v.f_frsize;
}

enum ws_status file_write(const char *path, const void *bytes, size_t n, struct diag *d) {
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(bytes, 1, n, f) == n;
    if (f && fclose(f) != 0) ok = false;
    if (!ok) return diag_fail(d, WS_MACHINE, "cannot write '%s': %s", path, strerror(errno));
    return WS_OK;
}

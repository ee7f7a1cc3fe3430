/* cpu_scratch.c: a folder for one compile, and the end of those that killed processes have left.
 *
 *   /tmp/warpsmith-4711-182734-4026531836-x3Zr9Q/{in.c,out.so,log}
 *                  pid  start  pid namespace
 *
 * Files are reached through the open folder, never by its path, and the compiler runs in it: where
 * others may rename what lies in the temporary folder, they still cannot get between what is
 * compiled and what is loaded. The folder's name says whose it is, so that whoever comes next
 * can tell that its process is gone: a process of that number started at another time. Of a
 * process in another container that cannot be told; such folders go when they are a day old. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/cpu/cpu_device.h"

#define PREFIX "warpsmith-"
enum { OLD_S = 24 * 60 * 60, NAME_END = 6 /* mkdtemp's */ };

/* ---- whose ----------------------------------------------------------------------------------- */

struct owner {
    long pid;
    unsigned long long start, space; /* clock ticks since boot; inode of the pid namespace */
};

/* 0: there is no such process. */
static unsigned long long start_of(long pid) {
    char path[40], line[1024] = "";
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *f = fopen(path, "re");
    if (f && !fgets(line, sizeof line, f)) line[0] = 0;
    if (f) fclose(f);
    /* Field 22; the second is a name in brackets, with whatever in it. */
    const char *p = strrchr(line, ')');
    for (int field = 2; p && field < 22; field++) p = strchr(p + 1, ' ');
    return p ? strtoull(p, NULL, 10) : 0;
}

static struct owner this_process(void) {
    struct stat st;
    return (struct owner){(long)getpid(), start_of((long)getpid()),
                          stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0};
}

/* False: a name of another kind, and nothing of ours. Earlier versions said no owner: pid 0. */
static bool parse_name(const char *name, struct owner *o) {
    int n = 0;
    *o = (struct owner){0};
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0) return false;
    name += strlen(PREFIX);
    if (sscanf(name, "%ld-%llu-%llu-%n", &o->pid, &o->start, &o->space, &n) == 3 && n > 0)
        name += n;
    else
        *o = (struct owner){0};
    for (n = 0; name[n]; n++)
        if (strchr("-._", name[n])) return false;
    return n == NAME_END;
}

/* ---- one folder ------------------------------------------------------------------------------ */

bool scratch_make(struct scratch *f, const char *tmp) {
    struct owner o = this_process();
    struct stat st;
    int n = snprintf(f->path, sizeof f->path, "%s/" PREFIX "%ld-%llu-%llu-XXXXXX", tmp, o.pid,
                     o.start, o.space);
    f->fd = -1;
    if (n >= (int)sizeof f->path) return errno = ENAMETOOLONG, false;
    if (!mkdtemp(f->path)) return false;
    f->fd = open(f->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (f->fd >= 0 && fstat(f->fd, &st) == 0 && st.st_uid == geteuid()) return true;
    scratch_remove(f); /* another one by now: somebody was quick */
    errno = EPERM;
    return false;
}

/* A compiler that has lost its parent may go on writing for a moment. */
static void remove_folder(int fd, const char *path) {
    enum { TRIES = 20 };
    for (int i = 0; i < TRIES; i++) {
        int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
        for (struct dirent *e; dir && (e = readdir(dir));)
            if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) unlinkat(fd, e->d_name, 0);
        if (dir)
            closedir(dir);
        else if (copy >= 0)
            close(copy);
        if (rmdir(path) == 0 || (errno != ENOTEMPTY && errno != EEXIST)) return;
        usleep(1000);
    }
}

void scratch_remove(struct scratch *f) {
    if (f->fd < 0) return;
    remove_folder(f->fd, f->path);
    close(f->fd);
    f->fd = -1;
}

/* ---- what was left --------------------------------------------------------------------------- */

static bool is_left(const struct owner *o, const struct owner *us, const struct stat *st) {
    if (o->pid && us->start && o->space == us->space) return start_of(o->pid) != o->start;
    return st->st_mtime + OLD_S < time(NULL);
}

static void sweep_one(const char *path, const struct owner *o, const struct owner *us) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return;
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && is_left(o, us, &st))
        remove_folder(fd, path);
    close(fd);
}

void scratch_sweep(const char *tmp) {
    struct owner us = this_process(), o;
    struct scratch f;
    DIR *dir = opendir(tmp);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        if (!parse_name(e->d_name, &o)) continue;
        if (snprintf(f.path, sizeof f.path, "%s/%s", tmp, e->d_name) < (int)sizeof f.path)
            sweep_one(f.path, &o, &us);
    }
    if (dir) closedir(dir);
}

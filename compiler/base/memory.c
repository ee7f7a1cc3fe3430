/* memory.c: the smallest of what several files say.
 *
 *   /proc/meminfo                              MemAvailable:   21451824 kB
 *   /proc/self/cgroup                          4:memory:/a/b   or   0::/a/b
 *   /sys/fs/cgroup/memory/a/b/memory.limit_in_bytes, .usage_in_bytes, .stat     version 1
 *   /sys/fs/cgroup/a/b/memory.max, .current, .stat                              version 2 */
#include "base/memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PATH = 4096 };

/* The number of the line that begins with key, or of the first line if key is "". */
static bool read_number(const char *path, const char *key, size_t *out) {
    char line[256];
    FILE *f = fopen(path, "r");
    bool found = false;
    while (f && !found && fgets(line, sizeof line, f)) {
        char *end;
        if (strncmp(line, key, strlen(key)) != 0) continue;
        unsigned long long v = strtoull(line + strlen(key), &end, 10);
        found = end != line + strlen(key); /* "max" is no number */
        *out = (size_t)v;
    }
    if (f) fclose(f);
    return found;
}

static size_t left(size_t most, size_t used) { return used < most ? most - used : 0; }

struct version {
    const char *folder, *limit, *usage, *cached;
};
static const struct version versions[] = {
    {"sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
     "total_inactive_file "},
    {"sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "},
};

/* One group; its folder is at path, of n characters. */
static size_t left_in_group(const struct version *v, char *path, size_t n) {
    size_t most, used = 0, cached = 0;
    snprintf(path + n, PATH - n, "/%s", v->limit);
    if (!read_number(path, "", &most)) return SIZE_MAX;
    snprintf(path + n, PATH - n, "/%s", v->usage);
    read_number(path, "", &used);
    snprintf(path + n, PATH - n, "/memory.stat");
    read_number(path, v->cached, &cached);
    return left(most, left(used, cached));
}

/* The group and all around it: the smallest wins. */
static size_t left_in_groups(const char *root, const struct version *v, const char *group) {
    char path[PATH + 64];
    size_t least = SIZE_MAX;
    int n = snprintf(path, PATH, "%s/%s", root, v->folder), end;
    end = n + snprintf(path + n, PATH - (size_t)n, "%s", group);
    if (end >= PATH) return SIZE_MAX;
    for (; end >= n; end--) {
        bool whole = end == n || path[end] == '/' || path[end] == 0;
        if (!whole) continue;
        size_t x = left_in_group(v, path, (size_t)end);
        if (x < least) least = x;
        path[end] = 0;
    }
    return least;
}

static size_t left_in_containers(const char *root) {
    char path[PATH], line[PATH];
    size_t least = SIZE_MAX;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;
        if (!group) continue;
        *group++ = 0;
        bool second = names[1] == 0, first = strstr(names, "memory") != NULL;
        if (!first && !second) continue;
        size_t x = left_in_groups(root, &versions[second], group);
        if (x < least) least = x;
    }
    if (f) fclose(f);
    return least;
}

size_t memory_available_in(const char *root) {
    char path[PATH];
    size_t kb, least = left_in_containers(root);
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    if (read_number(path, "MemAvailable:", &kb) && kb < least / 1024) least = kb * 1024;
    return least;
}

/* What a limit of this process leaves where it has so many pages. */
static size_t left_of_limit(int limit, unsigned long pages) {
    struct rlimit r;
    if (getrlimit(limit, &r) != 0 || r.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
    return left((size_t)r.rlim_cur, pages * (size_t)sysconf(_SC_PAGESIZE));
}

size_t memory_available(void) {
    size_t least = memory_available_in(""), x;
    unsigned long size, resident;
    FILE *f = fopen("/proc/self/statm", "r");
    bool known = f && fscanf(f, "%lu %lu", &size, &resident) == 2;
    if (f) fclose(f);
    if (!known) return least;
    if ((x = left_of_limit(RLIMIT_AS, size)) < least) least = x;
    if ((x = left_of_limit(RLIMIT_RSS, resident)) < least) least = x;
    return least;
}

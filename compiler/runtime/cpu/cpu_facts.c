/* cpu_facts.c: what this CPU is, from /proc, /sys and cpuid. Whatever the system does not tell has
 * a stated default. */
#define _GNU_SOURCE /* sched_getaffinity */
#include <ctype.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "runtime/cpu/cpu_device.h"

enum { DEFAULT_CACHE = 32 << 20 /* bytes, where /sys names no cache */ };

/* First line of a small file without its newline; false if there is none. */
static bool read_line(const char *path, char *out, size_t size) {
    FILE *f = fopen(path, "re");
    bool ok = f && fgets(out, (int)size, f);
    if (f) fclose(f);
    if (ok) out[strcspn(out, "\n")] = 0;
    return ok;
}

static bool read_cpu_line(int cpu, const char *file, char *out, size_t size) {
    char path[160];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/%s", cpu, file);
    return read_line(path, out, size);
}

/* Value of a "key : value" line of /proc/cpuinfo. */
static bool cpuinfo_value(const char *key, char *out, size_t size) {
    char line[512];
    FILE *f = fopen("/proc/cpuinfo", "re");
    bool found = false;
    while (f && !found && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (!colon || strncmp(line, key, strlen(key)) != 0) continue;
        colon++;
        while (isspace((unsigned char)*colon)) colon++;
        snprintf(out, size, "%.*s", (int)strcspn(colon, "\n"), colon);
        found = true;
    }
    if (f) fclose(f);
    return found;
}

/* ---- cores ----------------------------------------------------------------------------------- */

/* A CPU stands for its core if it is the first of the core's allowed siblings ("0,64" or "0-1"). */
static bool leads_core(int cpu, const cpu_set_t *allowed) {
    char list[256];
    if (!read_cpu_line(cpu, "topology/thread_siblings_list", list, sizeof list)) return true;
    for (char *p = list; isdigit((unsigned char)*p);) {
        long lo = strtol(p, &p, 10), hi = lo;
        if (*p == '-') hi = strtol(p + 1, &p, 10);
        for (long i = lo; i <= hi && i < cpu; i++)
            if (i < MAX_CPUS && CPU_ISSET(i, allowed)) return false;
        if (*p == ',') p++;
    }
    return true;
}

/* A container's quota of CPU time, in whole CPUs; 0 = none. "200000 100000" is two. */
static int quota(void) {
    char line[64];
    long used, period;
    if (!read_line("/sys/fs/cgroup/cpu.max", line, sizeof line)) return 0;
    if (sscanf(line, "%ld %ld", &used, &period) != 2 || period <= 0) return 0;
    return (int)((used + period - 1) / period);
}

/* One CPU of every core, and as many threads, unless a quota allows fewer. */
static void find_cores(struct cpu_device *c, const cpu_set_t *allowed) {
    int most = quota();
    for (int i = 0; i < MAX_CPUS; i++)
        if (CPU_ISSET(i, allowed) && leads_core(i, allowed)) c->cpus[c->n_cpus++] = i;
    c->threads = most > 0 && c->n_cpus > most ? most : c->n_cpus;
    if (!c->threads) c->threads = 1;
}

/* ---- caches ---------------------------------------------------------------------------------- */

/* "32768K", "32M" or bytes; 0 if it is no such number. */
static int64_t parse_size(const char *s) {
    char *end;
    int64_t n = strtoll(s, &end, 10);
    int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    bool whole = end != s && !end[shift != 0] && n > 0 && n <= INT64_MAX >> shift;
    return whole ? n << shift : 0;
}

/* The highest-level cache cpu sees: its level and size, and the first CPU that shares it. */
static int last_cache(int cpu, int64_t *bytes, int *first) {
    int best = 0;
    for (int i = 0; i < 8; i++) {
        char file[64], line[256];
        snprintf(file, sizeof file, "cache/index%d/level", i);
        if (!read_cpu_line(cpu, file, line, sizeof line)) break;
        int level = atoi(line);
        snprintf(file, sizeof file, "cache/index%d/size", i);
        if (level <= best || !read_cpu_line(cpu, file, line, sizeof line)) continue;
        best = level;
        *bytes = parse_size(line);
        snprintf(file, sizeof file, "cache/index%d/shared_cpu_list", i);
        *first = read_cpu_line(cpu, file, line, sizeof line) ? atoi(line) : cpu;
    }
    return best;
}

/* Sum over the distinct last-level caches of the CPUs we may run on (a socket can have a dozen). */
static int64_t cache_bytes(const cpu_set_t *allowed) {
    int64_t total = 0;
    cpu_set_t counted;
    CPU_ZERO(&counted);
    for (int i = 0; i < MAX_CPUS; i++) {
        int64_t bytes = 0;
        int first = i;
        if (!CPU_ISSET(i, allowed) || !last_cache(i, &bytes, &first)) continue;
        if (first < 0 || first >= MAX_CPUS || CPU_ISSET(first, &counted)) continue;
        CPU_SET(first, &counted);
        total += bytes;
    }
    return total > 0 ? total : DEFAULT_CACHE;
}

/* ---- instruction set ------------------------------------------------------------------------- */

static int simd(char *arch, size_t size) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    int bytes = __builtin_cpu_supports("avx512f") ? 64 : __builtin_cpu_supports("avx2") ? 32 : 16;
    snprintf(arch, size, "x86-64-%s", bytes == 64 ? "avx512" : bytes == 32 ? "avx2" : "sse2");
    return bytes;
#else
    struct utsname u;
    snprintf(arch, size, "%s", uname(&u) == 0 ? u.machine : "unknown");
    return 16;
#endif
}

static int simd_registers(int bytes) {
#if defined(__x86_64__)
    return bytes == 64 ? 32 : 16;
#elif defined(__aarch64__)
    return (void)bytes, 32;
#else
    return (void)bytes, 16;
#endif
}

static double clock_ghz(void) {
    char line[64];
    if (read_cpu_line(0, "cpufreq/cpuinfo_max_freq", line, sizeof line))
        return atof(line) / 1e6; /* kHz */
    if (cpuinfo_value("cpu MHz", line, sizeof line)) return atof(line) / 1e3;
    return 0;
}

static void read_limits(struct cpu_device *c, int64_t cache) {
    struct device_limits *l = &c->base.limits;
    *l = (struct device_limits){
        .kind = DEVICE_CPU,
        .units = c->threads,
        .warp = 1,
        .max_threads_block = 1,
        .max_threads_unit = 1,
        .max_blocks_unit = 1,
        .max_cluster = 1,
        .l2_bytes = cache,
        .clock_ghz = clock_ghz(),
    };
    l->simd_bytes = simd(l->arch, sizeof l->arch);
    l->simd_registers = simd_registers(l->simd_bytes);
    /* two FMA units a core, two operations an FMA, one f32 a 4 bytes of register */
    l->f32_tflops = l->units * l->clock_ghz * (l->simd_bytes / 4) * 2 * 2 / 1e3;
}

enum ws_status cpu_read_facts(struct cpu_device *c, const struct env *env, struct diag *d) {
    struct device_facts *f = &c->base.facts;
    struct utsname u;
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) CPU_SET(0, &allowed);
    find_cores(c, &allowed);
    int64_t cache = env->cpu_cache ? parse_size(env->cpu_cache) : cache_bytes(&allowed);
    if (!cache)
        return diag_fail(d, WS_USAGE, "WARPSMITH_CPU_CACHE is '%s': expected bytes, as 32M",
                         env->cpu_cache);
    read_limits(c, cache);
    if (!cpuinfo_value("model name", f->name, sizeof f->name))
        snprintf(f->name, sizeof f->name, "unknown CPU");
    if (uname(&u) == 0) snprintf(f->driver, sizeof f->driver, "%.20s %.40s", u.sysname, u.release);
    snprintf(f->timer, sizeof f->timer, "monotonic");
    snprintf(f->id, sizeof f->id, "cpu");
    return WS_OK;
}

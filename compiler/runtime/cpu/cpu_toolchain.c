/* cpu_toolchain.c: C -> shared object through the system's compiler.
 *
 *   cc -x c - -O3 -march=native ... -o DIR/out.so  < DIR/in.c  2> DIR/log
 *
 * Every compile has a private folder, removed before it returns, so threads and processes never
 * meet. Input and log are files, not pipes: nothing can block on a full pipe. */
#define _GNU_SOURCE /* asprintf */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/cpu/cpu_device.h"

extern char **environ;

enum { MAX_WORDS = 32, PATH_BYTES = 64, COMPILE_MOST_MS = 60000, TOOK_TOO_LONG = 124 };

#define FLAGS                                                                                      \
    "-O3", "-march=native", "-fopenmp", "-ffp-contract=fast", "-fno-math-errno",                   \
        "-fno-trapping-math", "-shared", "-fPIC", "-x", "c", "-"

struct cpu_toolchain {
    struct toolchain base;
    char *words[MAX_WORDS]; /* $CC split at blanks: "ccache gcc" */
    int n_words;
};

struct folder {
    char path[PATH_BYTES], source[PATH_BYTES + 16], object[PATH_BYTES + 16], log[PATH_BYTES + 16];
};

static bool folder_make(struct folder *f) {
    *f = (struct folder){.path = P_tmpdir "/warpsmith-XXXXXX"};
    if (!mkdtemp(f->path)) return false;
    snprintf(f->source, sizeof f->source, "%s/in.c", f->path);
    snprintf(f->object, sizeof f->object, "%s/out.so", f->path);
    snprintf(f->log, sizeof f->log, "%s/log", f->path);
    return true;
}

static void folder_remove(const struct folder *f) {
    unlink(f->source);
    unlink(f->object);
    unlink(f->log);
    rmdir(f->path);
}

/* The whole file, 0-terminated, malloc'ed; NULL if it cannot be read. */
static char *read_whole(const char *path, size_t *size) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *text = NULL;
    if (fd >= 0 && fstat(fd, &st) == 0 && (text = malloc((size_t)st.st_size + 1))) {
        size_t n = 0;
        ssize_t got = 0;
        while (n < (size_t)st.st_size && (got = read(fd, text + n, (size_t)st.st_size - n)) > 0)
            n += (size_t)got;
        text[n] = 0;
        *size = n;
    }
    if (fd >= 0) close(fd);
    return text;
}

/* #line makes the compiler's messages speak of the kernel's name instead of <stdin>. */
static bool write_source(const char *path, const char *name, const char *source) {
    FILE *f = fopen(path, "we");
    if (!f) return false;
    fprintf(f, "#line 1 \"");
    for (const char *p = name; *p; p++)
        if (*p != '"' && *p != '\\' && *p != '\n') fputc(*p, f);
    fprintf(f, "\"\n%s", source);
    return fclose(f) == 0;
}

/* End a process and what it has started: a compiler is the child of the command `cc`. They are no
 * process group of their own, so that ^C reaches them too. */
static void kill_tree(pid_t pid) {
    char path[PATH_BYTES], line[256] = "";
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *f = fopen(path, "re");
    if (f && !fgets(line, sizeof line, f)) line[0] = 0;
    if (f) fclose(f);
    kill(pid, SIGKILL); /* first: it starts no more */
    char *end;
    for (const char *p = line; strtol(p, &end, 10) > 0 && end != p; p = end)
        kill_tree((pid_t)strtol(p, NULL, 10));
}

/* Run argv with stdin from one file and stdout and stderr into another. Returns the exit status, or
 * -1 with errno. */
static int run(char *const *argv, const char *in, const char *log) {
    posix_spawn_file_actions_t files;
    pid_t pid;
    int status = 0;
    if ((errno = posix_spawn_file_actions_init(&files)) != 0) return -1;
    posix_spawn_file_actions_addopen(&files, 0, in, O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    int err = posix_spawnp(&pid, argv[0], &files, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    if ((errno = err) != 0) return -1;
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0); /* before Linux 5.3 there is no limit */
    struct pollfd ended = {.fd = pidfd, .events = POLLIN};
    while (pidfd >= 0 && poll(&ended, 1, COMPILE_MOST_MS) < 0 && errno == EINTR) continue;
    bool late = pidfd >= 0 && !ended.revents;
    if (late) kill_tree(pid);
    if (pidfd >= 0) close(pidfd);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return -1;
    if (late) return TOOK_TOO_LONG;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* $CC's words, then the given ones, NULL. */
static void command(const struct cpu_toolchain *t, const char *const *rest, char **argv) {
    int n = 0;
    for (int i = 0; i < t->n_words; i++) argv[n++] = t->words[i];
    while (*rest) argv[n++] = (char *)*rest++;
    argv[n] = NULL;
}

static char *format_log(const char *what, const char *detail) {
    char *text = NULL;
    int n = asprintf(&text, "%s: %s", what, detail);
    WS_ASSERT(n >= 0);
    return text;
}

static void compile_in(const struct cpu_toolchain *t, const struct folder *f,
                       struct compiled *out) {
    const char *const flags[] = {FLAGS, "-o", f->object, "-lm", NULL};
    char *argv[MAX_WORDS + sizeof flags / sizeof *flags];
    size_t n = 0;
    command(t, flags, argv);
    int status = run(argv, f->source, f->log);
    if (status < 0) {
        out->log = format_log(argv[0], strerror(errno));
        return;
    }
    if (status == TOOK_TOO_LONG) {
        out->log = format_log(argv[0], "error: took longer than a minute, and was stopped");
        return;
    }
    out->log = read_whole(f->log, &n);
    if (status == 0) out->binary = (unsigned char *)read_whole(f->object, &out->size);
    out->ok = out->binary && out->size > 0;
    if (out->ok || (out->log && *out->log)) return;
    char detail[64];
    snprintf(detail, sizeof detail, "exit status %d and no message", status);
    free(out->log);
    out->log = format_log(argv[0], detail);
}

static void cpu_compile(struct toolchain *base, const char *name, const char *source, bool want_ptx,
                        struct compiled *out) {
    const struct cpu_toolchain *t = (const struct cpu_toolchain *)base;
    struct folder f;
    (void)want_ptx; /* there is none */
    if (!folder_make(&f)) {
        out->log = format_log("cannot make a folder in " P_tmpdir, strerror(errno));
        return;
    }
    if (write_source(f.source, name, source))
        compile_in(t, &f, out);
    else
        out->log = format_log(f.source, strerror(errno));
    folder_remove(&f);
    if (!out->log) out->log = strdup("");
}

static const struct toolchain_ops ops = {.compile = cpu_compile};

static enum ws_status split_words(struct cpu_toolchain *t, const char *cc, struct arena *a,
                                  struct diag *d) {
    char *save = NULL, *text = arena_strdup(a, cc);
    for (char *w = strtok_r(text, " \t", &save); w; w = strtok_r(NULL, " \t", &save)) {
        if (t->n_words == MAX_WORDS)
            return diag_fail(d, WS_USAGE, "CC has more than %d words", MAX_WORDS);
        t->words[t->n_words++] = w;
    }
    if (!t->n_words) return diag_fail(d, WS_USAGE, "CC is empty: it must name a C compiler");
    return WS_OK;
}

/* First line of `cc --version`, which tells one build of a compiler from another. */
static enum ws_status read_version(struct cpu_toolchain *t, struct arena *a, struct diag *d) {
    const char *const args[] = {"--version", NULL};
    char *argv[MAX_WORDS + 2], *text = NULL;
    struct folder f;
    size_t n = 0;
    if (!folder_make(&f))
        return diag_fail(d, WS_MACHINE, "cannot make a folder in %s: %s", P_tmpdir,
                         strerror(errno));
    command(t, args, argv);
    int status = run(argv, "/dev/null", f.log);
    if (status < 0)
        diag_fail(d, WS_MACHINE, "cannot run the C compiler '%s': %s (CC names it)", argv[0],
                  strerror(errno));
    else if (status != 0 || !(text = read_whole(f.log, &n)))
        diag_fail(d, WS_MACHINE,
                  "'%s --version' failed with status %d: the CPU device needs a C compiler",
                  argv[0], status);
    else
        t->base.version =
            arena_printf(a, "%.*s -O3 -march=native", (int)strcspn(text, "\r\n"), text);
    free(text);
    folder_remove(&f);
    return d->status;
}

enum ws_status cpu_toolchain_open(const struct env *env, struct arena *a, struct diag *d,
                                  struct toolchain **out) {
    struct cpu_toolchain *t = NEW(a, struct cpu_toolchain);
    t->base.ops = &ops;
    if (split_words(t, env->cc, a, d) != WS_OK || read_version(t, a, d) != WS_OK) return d->status;
    *out = &t->base;
    return WS_OK;
}

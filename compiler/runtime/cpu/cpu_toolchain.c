/* cpu_toolchain.c: C -> shared object through the system's compiler.
 *
 *   cd DIR; TMPDIR=. cc -x c - -O3 -march=native ... -o out.so  < in.c  2> log
 *
 * Every compile has a private folder, removed before it returns, so threads and processes never
 * meet; the compiler's own temporary files lie there, too. Input and log are files, not pipes:
 * nothing can block on a full pipe. */
#define _GNU_SOURCE /* asprintf, posix_spawn_file_actions_addfchdir_np */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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

/* In the folder of a compile. */
#define SOURCE "in.c"
#define OBJECT "out.so"
#define LOG "log"

#define FLAGS                                                                                      \
    "-O3", "-march=native", "-fopenmp", "-ffp-contract=fast", "-fno-math-errno",                   \
        "-fno-trapping-math", "-shared", "-fPIC", "-x", "c", "-"

struct cpu_toolchain {
    struct toolchain base;
    char *words[MAX_WORDS]; /* $CC split at blanks: "ccache gcc" */
    int n_words;
    const char *tmp;
    char **environment; /* of the compiler */
};

/* The whole file, 0-terminated, malloc'ed; NULL if it cannot be read. */
static char *read_whole(const struct scratch *f, const char *name, size_t *size) {
    struct stat st;
    int fd = openat(f->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
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
static bool write_source(const struct scratch *folder, const char *name, const char *source) {
    int fd = openat(folder->fd, SOURCE, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!f) {
        if (fd >= 0) close(fd);
        return false;
    }
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

static bool is_stopped(const struct cpu_toolchain *t) {
    return t->base.stopped && t->base.stopped();
}

/* Is the process of pidfd over before its time is? */
static bool wait_end(const struct cpu_toolchain *t, int pidfd) {
    enum { SLICE_MS = 100 };
    struct pollfd ended = {.fd = pidfd, .events = POLLIN};
    for (int waited = 0; waited < COMPILE_MOST_MS && !is_stopped(t); waited += SLICE_MS)
        if (poll(&ended, 1, SLICE_MS) > 0) return true;
    return false;
}

/* Run argv in the folder, with stdin from one file and stdout and stderr into another. Returns the
 * exit status, or -1 with errno. */
static int run(const struct cpu_toolchain *t, const struct scratch *f, char *const *argv,
               const char *in) {
    posix_spawn_file_actions_t files;
    pid_t pid;
    int status = 0;
    if ((errno = posix_spawn_file_actions_init(&files)) != 0) return -1;
    posix_spawn_file_actions_addfchdir_np(&files, f->fd);
    posix_spawn_file_actions_addopen(&files, 0, in, O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, LOG, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    int err = posix_spawnp(&pid, argv[0], &files, NULL, argv, t->environment);
    posix_spawn_file_actions_destroy(&files);
    if ((errno = err) != 0) return -1;
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0); /* before Linux 5.3 there is no limit */
    bool late = pidfd >= 0 && !wait_end(t, pidfd);
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

/* Did somebody end the compiler, or a part of it that it tells of? Its own crash is its answer to
 * the text; these signals are not. */
static bool was_killed(int status, const char *log) {
    static const int outside[] = {SIGKILL, SIGTERM, SIGINT, SIGHUP};
    char gcc[64], collect2[32], clang[64];
    for (unsigned i = 0; i < sizeof outside / sizeof *outside; i++) {
        const char *name = strsignal(outside[i]);
        snprintf(gcc, sizeof gcc, "%s signal terminated program", name);
        snprintf(collect2, sizeof collect2, "terminated with signal %d [", outside[i]);
        snprintf(clang, sizeof clang, "unable to execute command: %s", name);
        if (status == 128 + outside[i] || strstr(log, gcc) || strstr(log, collect2) ||
            strstr(log, clang))
            return true;
    }
    return false;
}

static void compile_in(const struct cpu_toolchain *t, const struct scratch *f,
                       struct compiled *out) {
    const char *const flags[] = {FLAGS, "-o", OBJECT, "-lm", NULL};
    char *argv[MAX_WORDS + sizeof flags / sizeof *flags];
    size_t n = 0;
    command(t, flags, argv);
    int status = is_stopped(t) ? TOOK_TOO_LONG : run(t, f, argv, SOURCE);
    if (status < 0) {
        out->log = format_log(argv[0], strerror(errno));
        return;
    }
    if (status == TOOK_TOO_LONG) {
        out->log = format_log(argv[0], is_stopped(t)
                                           ? "error: interrupted"
                                           : "error: took longer than a minute, and was stopped");
        return;
    }
    out->log = read_whole(f, LOG, &n);
    if (status == 0) out->binary = (unsigned char *)read_whole(f, OBJECT, &out->size);
    out->ok = out->binary && out->size > 0;
    out->killed = !out->ok && was_killed(status, out->log ? out->log : "");
    if (out->ok || (out->log && *out->log)) return;
    char detail[64];
    snprintf(detail, sizeof detail, "exit status %d and no message", status);
    free(out->log);
    out->log = format_log(argv[0], detail);
}

static void cpu_compile(struct toolchain *base, const char *name, const char *source, bool want_ptx,
                        struct compiled *out) {
    const struct cpu_toolchain *t = (const struct cpu_toolchain *)base;
    struct scratch f = {.fd = -1};
    (void)want_ptx; /* there is none */
    if (!scratch_make(&f, t->tmp)) {
        out->log = format_log("cannot make a folder for temporary files", strerror(errno));
        return;
    }
    if (write_source(&f, name, source))
        compile_in(t, &f, out);
    else
        out->log = format_log(f.path, strerror(errno));
    scratch_remove(&f);
    if (!out->log) out->log = strdup("");
}

static const struct toolchain_ops ops = {.compile = cpu_compile};

/* "tools/cc" is meant from here, not from where it will be run. */
static enum ws_status make_absolute(char **word, struct arena *a, struct diag *d) {
    char here[PATH_MAX];
    if (**word == '/' || !strchr(*word, '/')) return WS_OK;
    if (!getcwd(here, sizeof here))
        return diag_fail(d, WS_MACHINE, "cannot tell the current folder: %s", strerror(errno));
    *word = arena_printf(a, "%s/%s", here, *word);
    return WS_OK;
}

static enum ws_status split_words(struct cpu_toolchain *t, const char *cc, struct arena *a,
                                  struct diag *d) {
    char *save = NULL, *text = arena_strdup(a, cc);
    for (char *w = strtok_r(text, " \t", &save); w; w = strtok_r(NULL, " \t", &save)) {
        if (t->n_words == MAX_WORDS)
            return diag_fail(d, WS_USAGE, "CC has more than %d words", MAX_WORDS);
        t->words[t->n_words++] = w;
    }
    if (!t->n_words) return diag_fail(d, WS_USAGE, "CC is empty: it must name a C compiler");
    return make_absolute(&t->words[0], a, d);
}

/* Ours, but for where temporary files go, and that messages are in the words that we look for. */
static char **make_environment(struct arena *a) {
    static const char *const own[] = {"TMPDIR=.", "LC_ALL=C"};
    enum { N_OWN = sizeof own / sizeof *own };
    int n = 0;
    while (environ[n]) n++;
    char **out = NEW_ARRAY(a, char *, n + N_OWN + 1);
    n = 0;
    for (int i = 0; i < N_OWN; i++) out[n++] = arena_strdup(a, own[i]);
    for (char **e = environ; *e; e++)
        if (strncmp(*e, "TMPDIR=", 7) != 0 && strncmp(*e, "LC_ALL=", 7) != 0) out[n++] = *e;
    return out;
}

/* Its command, and what it defines before it reads a text: the exact version, and the instructions
 * that -march=native has found, which say more of the machine than the name of its CPU does. */
static void read_settings(struct cpu_toolchain *t, struct arena *a) {
    const char *const args[] = {FLAGS, "-dM", "-E", NULL};
    char *argv[MAX_WORDS + sizeof args / sizeof *args], *text = NULL;
    struct scratch f = {.fd = -1};
    struct buf b = buf_new(a);
    size_t n = 0;
    command(t, args, argv);
    for (int i = 0; argv[i]; i++) buf_printf(&b, "%s ", argv[i]);
    if (scratch_make(&f, t->tmp) && run(t, &f, argv, "/dev/null") == 0)
        text = read_whole(&f, LOG, &n);
    for (const char *line = text; line && *line; line += strcspn(line, "\n"), line += *line == '\n')
        if (!strncmp(line, "#define ", 8)) buf_printf(&b, "\n%.*s", (int)strcspn(line, "\n"), line);
    t->base.settings = b.p;
    free(text);
    scratch_remove(&f);
}

/* First line of `cc --version`, which tells one build of a compiler from another. */
static enum ws_status read_version(struct cpu_toolchain *t, struct arena *a, struct diag *d) {
    const char *const args[] = {"--version", NULL};
    char *argv[MAX_WORDS + 2], *text = NULL;
    struct scratch f = {.fd = -1};
    size_t n = 0;
    if (!scratch_make(&f, t->tmp))
        return diag_fail(d, WS_MACHINE, "cannot make a folder in '%s': %s (TMPDIR names another)",
                         t->tmp, strerror(errno));
    command(t, args, argv);
    int status = run(t, &f, argv, "/dev/null");
    if (status < 0)
        diag_fail(d, WS_MACHINE, "cannot run the C compiler '%s': %s (CC names it)", argv[0],
                  strerror(errno));
    else if (status != 0 || !(text = read_whole(&f, LOG, &n)))
        diag_fail(d, WS_MACHINE,
                  "'%s --version' failed with status %d: the CPU device needs a C compiler",
                  argv[0], status);
    else
        t->base.version =
            arena_printf(a, "%.*s -O3 -march=native", (int)strcspn(text, "\r\n"), text);
    free(text);
    scratch_remove(&f);
    return d->status;
}

enum ws_status cpu_toolchain_open(const struct env *env, struct arena *a, struct diag *d,
                                  struct toolchain **out) {
    struct cpu_toolchain *t = NEW(a, struct cpu_toolchain);
    t->base.ops = &ops;
    t->tmp = env->tmp;
    t->environment = make_environment(a);
    scratch_sweep(t->tmp);
    if (split_words(t, env->cc, a, d) != WS_OK || read_version(t, a, d) != WS_OK) return d->status;
    read_settings(t, a);
    *out = &t->base;
    return WS_OK;
}

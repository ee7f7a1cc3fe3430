/* suite.c: `warpsmith suite`: every case of a file as a bench of its own, on whichever device is free.
 *
 *   DIR/suite-<hash of the cases>/          while it is not over; the same call goes on with it
 *       run                                 the run id that all rows get
 *       case-3.part-HOST-PID-TIME/          case 3 runs: its results and what it says
 *       case-3/                             case 3 is done: the folder was renamed, with its exit code in it
 *   DIR/softmax.csv ...                     rows of all that is done, by reports/merge.h
 *   DIR/logs/<run id>-3.log                 what case 3 said
 *
 * What a case that did not end has written goes with its folder, so each row is recorded once. A case is done when its
 * bench says that it is fine or wrong; what the machine does to it is no result: it is tried again (suite_plan.h). */
#define _GNU_SOURCE /* nftw, cpu_set_t */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tuner/commands.h"
#include "tuner/folder.h"
#include "tuner/interrupt.h"
#include "tuner/machine.h"
#include "tuner/merge.h"
#include "tuner/suite_file.h"
#include "tuner/suite_plan.h"

struct worker {
    const char *device; /* NULL: the default one */
    pid_t pid;          /* 0: idle */
    int at;             /* the case that it runs */
    double begun_ms;
};

struct suite {
    struct arena *arena;
    struct diag *d;
    const struct command_line *line;
    struct suite_lines cases;
    const char *folder, *run_id;
    const char *
        mine; /* ".part-HOST-PID-TIME": a bench that outlives a killed suite writes to a folder that is gone */
    int part, n_parts; /* of Slurm's and other hosts' tasks: every n_parts-th case; 0 of 0: all */
    int lock, part_lock;
    struct suite_plan plan;
    struct worker *workers;
    int n_workers;
};

/* ---- the folder ------------------------------------------------------------------------------ */

static const char *case_folder(const struct suite *s, int i, const char *suffix) {
    return arena_printf(s->arena, "%s/case-%d%s", s->folder, i + 1, suffix);
}

static bool exists(const char *path) { return access(path, F_OK) == 0; }

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at) {
    remove(path); /* what stays is seen when the folder above it is removed, or made again */
    return 0;
}

static void remove_tree(const char *path) { nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS); }

/* The name changes with every word of every case, so that a suite which was changed begins anew. */
static const char *folder_of(const struct suite *s) {
    struct buf b = buf_new(s->arena);
    for (int i = 0; i < s->cases.n; i++) {
        const struct texts *words = &s->cases.at[i].words;
        for (int w = 0; w < words->n; w++) buf_write(&b, words->at[w], strlen(words->at[w]) + 1);
        buf_putc(&b, '\n');
    }
    return arena_printf(s->arena, "%s/suite-%016llx", s->line->results,
                        (unsigned long long)hash_bytes(b.p, b.n));
}

/* A lock that goes with this process. -1: somebody else has it. */
static int lock_file(struct suite *s, const char *name, int how) {
    const char *path = arena_printf(s->arena, "%s/%s", s->folder, name);
    struct stat ours, named;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return diag_fail(s->d, WS_MACHINE, "cannot make '%s': %s", path, strerror(errno)), -1;
    if (flock(fd, how | LOCK_NB) != 0)
        diag_fail(s->d, WS_MACHINE,
                  errno == EWOULDBLOCK ? "another process runs this suite in '%s'"
                                       : "cannot lock in '%s'",
                  s->line->results);
    else if (fstat(fd, &ours) != 0 || stat(path, &named) != 0 || ours.st_ino != named.st_ino)
        diag_fail(s->d, WS_MACHINE, "the suite in '%s' has just ended; call again",
                  s->line->results);
    else
        return fd;
    close(fd);
    return -1;
}

/* Tasks share a suite, each with a part of its own; who runs or collects the whole is alone. */
static enum ws_status lock_suite(struct suite *s) {
    bool part = s->n_parts && !s->line->collect;
    s->lock = lock_file(s, "lock", part ? LOCK_SH : LOCK_EX);
    if (part && s->d->status == WS_OK)
        s->part_lock =
            lock_file(s, arena_printf(s->arena, "lock-%d-of-%d", s->part, s->n_parts), LOCK_EX);
    return s->d->status;
}

/* The first process that gets here says which run this is; who comes later, or goes on, reads it. */
static enum ws_status name_run(struct suite *s) {
    const char *path = arena_printf(s->arena, "%s/run", s->folder);
    const char *part = arena_printf(s->arena, "%s.part-%ld", path, (long)getpid());
    const char *asked = env_read(s->arena).run_id;
    char text[256] = "";
    time_t now = time(NULL);
    struct tm tm;
    gmtime_r(&now, &tm);
    strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &tm);
    if (!asked || !*asked) asked = arena_printf(s->arena, "%s-%ld", text, (long)getpid());
    if (!exists(path)) {
        if (file_write(part, asked, strlen(asked), s->d) != WS_OK) return s->d->status;
        if (link(part, path) != 0 && errno != EEXIST)
            diag_fail(s->d, WS_MACHINE, "cannot make '%s': %s", path, strerror(errno));
        unlink(part);
    }
    FILE *f = s->d->status == WS_OK ? fopen(path, "r") : NULL;
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    s->run_id = arena_strndup(s->arena, text, n);
    return n ? WS_OK : diag_fail(s->d, WS_MACHINE, "cannot read '%s'", path);
}

/* What an earlier process left of cases that it did not end. */
static void remove_parts(const struct suite *s, int i) {
    const char *start = arena_printf(s->arena, "case-%d.part-", i + 1);
    DIR *dir = opendir(s->folder);
    for (struct dirent *x; dir && (x = readdir(dir));)
        if (!strncmp(x->d_name, start, strlen(start)))
            remove_tree(arena_printf(s->arena, "%s/%s", s->folder, x->d_name));
    if (dir) closedir(dir);
}

static bool is_mine(const struct suite *s, int i) {
    return !s->n_parts || i % s->n_parts == s->part - 1;
}

static enum ws_status open_suite(struct suite *s) {
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    s->folder = folder_of(s);
    s->mine =
        arena_printf(s->arena, ".part-%s-%ld-%lld", host, (long)getpid(), (long long)time(NULL));
    if (folder_make(s->arena, s->folder, s->d) != WS_OK || lock_suite(s) != WS_OK ||
        name_run(s) != WS_OK)
        return s->d->status;
    s->plan = suite_plan_new(s->cases.n, s->n_workers, s->arena);
    for (int i = 0; i < s->cases.n; i++) {
        bool done = exists(case_folder(s, i, ""));
        if (!is_mine(s, i) || done) suite_plan_done(&s->plan, i, -1);
        if (is_mine(s, i) && !done && !s->line->collect) remove_parts(s, i);
    }
    return WS_OK;
}

/* ---- a case ---------------------------------------------------------------------------------- */

/* Workers share the cores evenly, so that they compile beside each other, and two halves of a CPU are two devices. */
static void take_cores(int worker, int n_workers) {
    cpu_set_t all, own;
    CPU_ZERO(&own);
    if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < n_workers) return;
    int n = CPU_COUNT(&all), from = worker * n / n_workers, to = (worker + 1) * n / n_workers,
        k = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &all) && k >= from && k < to)
            CPU_SET(cpu, &own), k++;
        else if (CPU_ISSET(cpu, &all))
            k++;
    sched_setaffinity(0, sizeof own, &own);
}

/* In the new process: becomes the bench. */
static void become_bench(const struct suite *s, int worker, int i, const char *folder, char **argv,
                         pid_t parent) {
    int log = open(arena_printf(s->arena, "%s/log", folder), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    int nothing = open("/dev/null", O_RDONLY);
    if (log < 0 || nothing < 0) _exit(WS_MACHINE);
    dup2(nothing, STDIN_FILENO);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    if (s->n_workers > 1) take_cores(worker, s->n_workers);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(WS_MACHINE);
    setenv("WARPSMITH_RUN_ID", s->run_id, 1);
    execv("/proc/self/exe", argv);
    perror("warpsmith suite: cannot run itself");
    _exit(WS_MACHINE);
}

static char **arguments(const struct suite *s, const struct worker *w, int i, const char *folder) {
    const struct texts *words = &s->cases.at[i].words;
    char **argv = NEW_ARRAY(s->arena, char *, words->n + 9);
    int n = 0;
    argv[n++] = arena_strdup(s->arena, "warpsmith");
    argv[n++] = arena_strdup(s->arena, "bench");
    for (int k = 0; k < words->n; k++) argv[n++] = arena_strdup(s->arena, words->at[k]);
    argv[n++] = arena_strdup(s->arena, "--no-figures");
    argv[n++] = arena_strdup(s->arena, "--results");
    argv[n++] = arena_strdup(s->arena, folder);
    if (w->device) argv[n++] = arena_strdup(s->arena, "--device");
    if (w->device) argv[n++] = arena_strdup(s->arena, w->device);
    return argv;
}

static void start(struct suite *s, int worker, int i) {
    struct worker *w = &s->workers[worker];
    const char *folder = case_folder(s, i, s->mine);
    pid_t parent = getpid();
    remove_tree(folder);
    if (folder_make(s->arena, folder, s->d) != WS_OK) return;
    char **argv = arguments(s, w, i, folder);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) become_bench(s, worker, i, folder, argv, parent);
    if (pid < 0) {
        diag_fail(s->d, WS_MACHINE, "cannot start a process: %s", strerror(errno));
        return;
    }
    *w = (struct worker){w->device, pid, i, clock_ms()};
}

/* ---- what becomes of it ---------------------------------------------------------------------- */

/* A case is done at one moment, and stays done after a power failure. */
static enum ws_status publish(struct suite *s, int i, int code) {
    const char *part = case_folder(s, i, s->mine);
    const char *text = arena_printf(s->arena, "%d\n", code);
    if (file_write(arena_printf(s->arena, "%s/exit", part), text, strlen(text), s->d) != WS_OK)
        return s->d->status;
    if (rename(part, case_folder(s, i, "")) != 0)
        return diag_fail(s->d, WS_MACHINE, "cannot rename '%s': %s", part, strerror(errno));
    int fd = open(s->folder, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) fsync(fd), close(fd);
    return WS_OK;
}

/* The last lines of what a case said. */
static void show_end(const char *path) {
    enum { LINES = 4 };
    FILE *f = fopen(path, "r");
    char *lines[LINES] = {0};
    size_t sizes[LINES] = {0}, n = 0;
    while (f && getline(&lines[n % LINES], &sizes[n % LINES], f) >= 0) n++;
    for (size_t k = n < LINES ? 0 : n - LINES; k < n; k++)
        fprintf(stderr, "    %s", lines[k % LINES]);
    for (int k = 0; k < LINES; k++) free(lines[k]);
    if (f) fclose(f);
}

static const char *how_it_ended(const struct suite *s, int status) {
    if (WIFSIGNALED(status)) return arena_printf(s->arena, "killed by signal %d", WTERMSIG(status));
    int code = WEXITSTATUS(status);
    return code == 0          ? "fine"
           : code == WS_WRONG ? "WRONG"
                              : arena_printf(s->arena, "FAILED (exit %d)", code);
}

static void end(struct suite *s, int worker, int status) {
    struct worker *w = &s->workers[worker];
    int i = w->at, code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    bool done = code == WS_OK || code == WS_WRONG || code == WS_USAGE;
    w->pid = 0;
    if (!done && interrupted()) return;
    if (done && publish(s, i, code) != WS_OK) return;
    printf("[%d/%d] %s: %s: %s, %.1f s\n", i + 1, s->cases.n,
           w->device ? w->device : "default device", s->cases.at[i].text, how_it_ended(s, status),
           (clock_ms() - w->begun_ms) / 1e3);
    fflush(stdout);
    if (code != WS_OK)
        show_end(arena_printf(s->arena, "%s/log", case_folder(s, i, done ? "" : s->mine)));
    if (done)
        suite_plan_done(&s->plan, i, worker);
    else
        suite_plan_failed(&s->plan, i, worker);
    if (s->plan.devices[worker].lost)
        fprintf(stderr, "%s has failed %d cases in a row: it gets no more\n", w->device,
                SUITE_LOST);
}

static void stop(struct suite *s, int signal) {
    for (int k = 0; k < s->n_workers; k++)
        if (s->workers[k].pid) kill(s->workers[k].pid, signal);
}

enum { PATIENCE_MS = 30000 }; /* with benches that were told to end */

static void run_cases(struct suite *s) {
    const struct timespec moment = {0, 20 * 1000 * 1000};
    double stopped_ms = 0;
    for (int running = 1; running;) {
        bool go_on = s->d->status == WS_OK && !interrupted();
        running = 0;
        if (!go_on && !stopped_ms) {
            stop(s, SIGTERM);
            stopped_ms = clock_ms();
            if (interrupted()) fputs("interrupted: each bench ends with what it is at\n", stderr);
        }
        if (stopped_ms && clock_ms() - stopped_ms > PATIENCE_MS) stop(s, SIGKILL);
        for (int k = 0; k < s->n_workers; k++) {
            struct worker *w = &s->workers[k];
            int status, i;
            if (w->pid && waitpid(w->pid, &status, WNOHANG) == w->pid) end(s, k, status);
            if (!w->pid && go_on && (i = suite_plan_next(&s->plan, k)) >= 0) start(s, k, i);
            running += w->pid != 0;
        }
        if (running) nanosleep(&moment, NULL);
        /* A case that just failed may be for a worker that was asked before. */
        if (go_on && !suite_plan_over(&s->plan)) running = 1;
    }
}

/* ---- all that is done ------------------------------------------------------------------------ */

/* Its words were checked, so that a call which its bench finds wrong is the workload's fault. */
static int code_of(const struct suite *s, int i) {
    FILE *f = fopen(arena_printf(s->arena, "%s/exit", case_folder(s, i, "")), "r");
    int code = WS_WRONG;
    if (f && fscanf(f, "%d", &code) != 1) code = WS_WRONG;
    if (f) fclose(f);
    return code == WS_OK ? WS_OK : WS_WRONG;
}

static void keep_log(struct suite *s, int i) {
    const char *folder = arena_printf(s->arena, "%s/logs", s->line->results);
    struct diag quiet = diag_new(s->arena);
    folder_make(s->arena, folder, &quiet);
    rename(arena_printf(s->arena, "%s/log", case_folder(s, i, "")),
           arena_printf(s->arena, "%s/%s-%d.log", folder, s->run_id, i + 1));
}

static enum ws_status collect(struct suite *s) {
    struct texts done = {NEW_ARRAY(s->arena, const char *, s->cases.n), 0};
    bool all = true;
    for (int i = 0; i < s->cases.n; i++) {
        const char *folder = case_folder(s, i, "");
        if (exists(folder))
            done.at[done.n++] = folder;
        else
            all = false;
    }
    if (done.n && merge_folders(&done, s->line->results, true, s->d) != WS_OK) return s->d->status;
    if (!all) return WS_OK;
    for (int i = 0; i < s->cases.n; i++) keep_log(s, i);
    const char *over = arena_printf(s->arena, "%s.over-%ld", s->folder, (long)getpid());
    if (rename(s->folder, over) == 0) remove_tree(over);
    return WS_OK;
}

/* Of this call's cases, before their folder goes. */
static int worst_code(const struct suite *s) {
    int worst = WS_OK, left = 0;
    for (int i = 0; i < s->cases.n; i++) {
        if (!is_mine(s, i)) continue;
        if (!exists(case_folder(s, i, ""))) {
            left++;
            if (s->line->collect) printf("not done: case %d: %s\n", i + 1, s->cases.at[i].text);
        } else if (code_of(s, i) > worst) {
            worst = code_of(s, i);
        }
    }
    fflush(stdout);
    if (!left) return worst;
    fprintf(stderr, "%d of %d cases %s not done; the same call goes on with %s\n", left, s->cases.n,
            left == 1 ? "is" : "are", left == 1 ? "it" : "them");
    return WS_MACHINE;
}

/* ---- the command ----------------------------------------------------------------------------- */

static enum ws_status read_part(struct suite *s) {
    char end = 0;
    if (!s->line->part) return WS_OK;
    if (sscanf(s->line->part, "%d/%d%c", &s->part, &s->n_parts, &end) == 2 && s->part >= 1 &&
        s->part <= s->n_parts)
        return WS_OK;
    return diag_fail(s->d, WS_USAGE, "--part takes I/N, the I-th of N parts, not '%s'",
                     s->line->part);
}

static enum ws_status open_workers(struct suite *s) {
    struct texts devices;
    if (suite_devices(s->line->devices, s->arena, &devices, s->d) != WS_OK) return s->d->status;
    s->n_workers = devices.n;
    s->workers = NEW_ARRAY(s->arena, struct worker, devices.n);
    for (int k = 0; k < devices.n; k++) s->workers[k].device = devices.at[k];
    return WS_OK;
}

int suite_command(const struct command_line *line) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct suite s = {.arena = a, .d = &d, .line = line, .lock = -1, .part_lock = -1};
    int code = WS_OK;
    interrupt_install();
    if (read_part(&s) == WS_OK && suite_read(line->operands.at[0], a, &s.cases, &d) == WS_OK &&
        open_workers(&s) == WS_OK && open_suite(&s) == WS_OK) {
        if (!line->collect) run_cases(&s);
        code = worst_code(&s);
        if (d.status == WS_OK && (line->collect || !s.n_parts)) collect(&s);
    }
    if (d.status != WS_OK) command_line_fail("suite", &d);
    if ((int)d.status > code) code = (int)d.status;
    if (interrupted()) code = interrupt_exit_code();
    if (s.part_lock >= 0) close(s.part_lock);
    if (s.lock >= 0) close(s.lock);
    arena_free(a);
    return code;
}

/* wire.c: messages over a socket, and the process at its other end. */
#define _GNU_SOURCE /* memfd_create */
#include "runtime/remote/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/runtime.h"

extern char **environ;

/* ---- packets --------------------------------------------------------------------------------- */

static void packet_room(struct packet *k, size_t n) {
    if (k->n + n <= k->cap) return;
    k->cap = 2 * (k->n + n) + 256;
    k->p = realloc(k->p, k->cap);
    if (!k->p) WS_BUG("out of memory for a message of %zu bytes", k->cap);
}

void packet_clear(struct packet *k) {
    k->n = k->at = 0;
    k->bad = false;
}

void packet_free(struct packet *k) {
    free(k->p);
    *k = (struct packet){0};
}

void packet_put(struct packet *k, const void *p, size_t n) {
    packet_room(k, n);
    if (n) memcpy(k->p + k->n, p, n);
    k->n += n;
}

void packet_put_u64(struct packet *k, uint64_t v) { packet_put(k, &v, sizeof v); }

void packet_put_text(struct packet *k, const char *text) {
    packet_put(k, text ? text : "", text ? strlen(text) + 1 : 1);
}

const void *packet_take(struct packet *k, size_t n) {
    if (n > k->n - k->at) {
        k->bad = true;
        return NULL;
    }
    const void *p = k->p + k->at;
    k->at += n;
    return p;
}

void packet_get(struct packet *k, void *p, size_t n) {
    const void *from = packet_take(k, n);
    if (from)
        memcpy(p, from, n);
    else
        memset(p, 0, n);
}

uint64_t packet_get_u64(struct packet *k) {
    uint64_t v;
    packet_get(k, &v, sizeof v);
    return v;
}

const char *packet_get_text(struct packet *k) {
    const void *end = k->at < k->n ? memchr(k->p + k->at, 0, k->n - k->at) : NULL;
    if (!end) {
        k->bad = true;
        return "";
    }
    return packet_take(k, (size_t)((const unsigned char *)end - (k->p + k->at)) + 1);
}

/* ---- messages -------------------------------------------------------------------------------- */

/* MSG_NOSIGNAL: that the other side is gone is an answer, no signal. */
static bool send_all(int fd, const void *from, size_t n) {
    for (const char *p = from; n;) {
        ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        p += sent;
        n -= (size_t)sent;
    }
    return true;
}

static bool receive_all(int fd, void *to, size_t n) {
    for (char *p = to; n;) {
        ssize_t got = recv(fd, p, n, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        p += got;
        n -= (size_t)got;
    }
    return true;
}

/* Waits in slices, and counts each for little more than it should have taken: while this process
 * was stopped (Ctrl-Z stops the worker, too), or had no core, the other side had no time either. */
static enum wire_result wait_readable(int fd, double limit_ms, bool (*stopped)(void)) {
    const double SLICE_MS = 100, GRACE_MS = 1000;
    bool stops = false;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    for (double waited = 0;;) {
        if (!stops && stopped && stopped()) {
            stops = true;
            limit_ms = fmin(limit_ms, waited + GRACE_MS);
        }
        double left = limit_ms - waited, slice = left < SLICE_MS ? left : SLICE_MS;
        double begun = clock_ms();
        int n = poll(&p, 1, slice > 0 ? (int)ceil(slice) : 0);
        if (n > 0) return WIRE_OK;
        if (n == 0 && left <= 0) return stops ? WIRE_STOPPED : WIRE_LATE;
        if (n < 0 && errno != EINTR) return WIRE_OK; /* the read will tell */
        waited += fmin(clock_ms() - begun, 2 * SLICE_MS);
    }
}

enum wire_result wire_send(int fd, const struct packet *k) {
    uint64_t n = k->n;
    return send_all(fd, &n, sizeof n) && send_all(fd, k->p, k->n) ? WIRE_OK : WIRE_GONE;
}

enum wire_result wire_receive(int fd, struct packet *k, double limit_ms, bool (*stopped)(void)) {
    uint64_t n;
    packet_clear(k);
    enum wire_result r = wait_readable(fd, limit_ms, stopped);
    if (r != WIRE_OK) return r;
    if (!receive_all(fd, &n, sizeof n)) return WIRE_GONE;
    packet_room(k, n);
    if (!receive_all(fd, k->p, n)) return WIRE_GONE;
    k->n = n;
    return WIRE_OK;
}

/* ---- processes ------------------------------------------------------------------------------- */

static enum ws_status map_stage(struct worker *w, int *fd, struct diag *d) {
    *fd = memfd_create("warpsmith-stage", MFD_CLOEXEC);
    if (*fd < 0 || ftruncate(*fd, STAGE_BYTES) != 0)
        return diag_fail(d, WS_MACHINE, "cannot share %d bytes with a worker: %s", STAGE_BYTES,
                         strerror(errno));
    void *p = mmap(NULL, STAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    if (p == MAP_FAILED)
        return diag_fail(d, WS_MACHINE, "cannot map %d bytes: %s", STAGE_BYTES, strerror(errno));
    w->stage = p;
    return WS_OK;
}

/* Descriptors above those that the child is to have, so that no dup2 overwrites another's source.
 */
static int move_up(int fd) {
    int high = fcntl(fd, F_DUPFD_CLOEXEC, 16);
    if (high < 0) return fd;
    close(fd);
    return high;
}

static int spawn(pid_t *pid, const char *what, int socket, int stage, bool dies_with_thread,
                 struct arena *a) {
    posix_spawn_file_actions_t files;
    char *argv[] = {"warpsmith", "worker", arena_strdup(a, what),
                    dies_with_thread ? "mortal" : "free", NULL};
    int err = posix_spawn_file_actions_init(&files);
    if (err) return err;
    posix_spawn_file_actions_adddup2(&files, socket, WORKER_SOCKET);
    if (stage >= 0) posix_spawn_file_actions_adddup2(&files, stage, WORKER_STAGE);
    err = posix_spawn(pid, "/proc/self/exe", &files, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    return err;
}

enum ws_status worker_start(struct worker *w, const char *what, bool with_stage,
                            bool dies_with_thread, struct diag *d) {
    int ends[2], stage = -1;
    *w = (struct worker){.fd = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return diag_fail(d, WS_MACHINE, "cannot make a socket: %s", strerror(errno));
    ends[1] = move_up(ends[1]);
    if (with_stage && map_stage(w, &stage, d) == WS_OK) stage = move_up(stage);
    if (d->status == WS_OK) {
        int err = spawn(&w->pid, what, ends[1], stage, dies_with_thread, d->arena);
        if (err) diag_fail(d, WS_MACHINE, "cannot start a worker process: %s", strerror(err));
    }
    close(ends[1]);
    if (stage >= 0) close(stage);
    w->fd = ends[0];
    if (d->status != WS_OK) worker_stop(w);
    return d->status;
}

static int reap(pid_t pid) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return 0;
    return status;
}

static void release(struct worker *w) {
    if (w->fd >= 0) close(w->fd);
    if (w->stage) munmap(w->stage, STAGE_BYTES);
    *w = (struct worker){.fd = -1};
}

void worker_hang_up(struct worker *w) {
    if (w->fd >= 0) close(w->fd);
    w->fd = -1;
}

void worker_stop(struct worker *w) {
    enum { GRACE_MS = 2000, STEP_US = 500 };
    worker_hang_up(w);
    bool gone = !w->pid;
    for (int i = 0; !gone && i < GRACE_MS * 1000 / STEP_US; i++) {
        gone = waitpid(w->pid, NULL, WNOHANG) != 0;
        if (!gone) usleep(STEP_US);
    }
    if (!gone) {
        kill(w->pid, SIGKILL);
        reap(w->pid);
    }
    release(w);
}

static bool has_ended(pid_t pid) {
    siginfo_t end = {0};
    return waitid(P_PID, (id_t)pid, &end, WEXITED | WNOHANG | WNOWAIT) != 0 || end.si_pid;
}

/* One that is dying already is left its own cause of death. */
static void wait_for_death(pid_t pid) {
    enum { GRACE_MS = 1000 };
    for (int i = 0; i < GRACE_MS && !has_ended(pid); i++) usleep(1000);
}

/* No program does these to itself. */
static bool is_from_outside(int signal) {
    static const int outside[] = {SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    for (unsigned i = 0; i < sizeof outside / sizeof *outside; i++)
        if (signal == outside[i]) return true;
    return false;
}

const char *worker_bury(struct worker *w, bool is_dying, struct arena *a, bool *killed) {
    if (is_dying) wait_for_death(w->pid);
    bool by_us = !has_ended(w->pid);
    if (by_us) kill(w->pid, SIGKILL);
    int status = reap(w->pid);
    release(w);
    if (killed) *killed = !by_us && WIFSIGNALED(status) && is_from_outside(WTERMSIG(status));
    if (WIFSIGNALED(status))
        return arena_printf(a, "killed by signal %d (%s)", WTERMSIG(status),
                            strsignal(WTERMSIG(status)));
    return arena_printf(a, "ended with status %d", WEXITSTATUS(status));
}

/* ---- in the worker --------------------------------------------------------------------------- */

/* Ctrl-C, `timeout` and the end of a terminal reach the whole group of processes; a worker ends
 * when its parent says so, or is gone. What kills it is for the parent to see, so nobody here
 * handles it. */
static void settle(bool dies_with_thread) {
    struct rlimit no_core = {0, 0};
    static const int of_the_group[] = {SIGINT, SIGTERM, SIGHUP};
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (unsigned i = 0; i < sizeof of_the_group / sizeof *of_the_group; i++)
        signal(of_the_group[i], SIG_IGN);
    for (unsigned i = 0; i < sizeof deadly / sizeof *deadly; i++) signal(deadly[i], SIG_DFL);
    setrlimit(RLIMIT_CORE, &no_core);
    if (dies_with_thread) prctl(PR_SET_PDEATHSIG, SIGKILL);
}

unsigned char *worker_stage(void) {
    void *p = mmap(NULL, STAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, WORKER_STAGE, 0);
    if (p == MAP_FAILED) WS_BUG("a worker without memory to share: %s", strerror(errno));
    return p;
}

void worker_main(int argc, char **argv) {
    if (argc != 3 || strcmp(argv[0], "worker") != 0 || fcntl(WORKER_SOCKET, F_GETFD) < 0) return;
    settle(!strcmp(argv[2], "mortal"));
    /* Whatever the other side has not freed goes with the process. */
    if (!strcmp(argv[1], "device")) _exit(device_worker());
    if (!strcmp(argv[1], "toolchain")) _exit(toolchain_worker());
}

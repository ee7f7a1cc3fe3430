/* wire.h: messages between a process and its worker, both of the same program.
 *
 *   request   op, then its arguments          reply   status, text of a failure, then its results
 *
 * A message is a length and that many bytes over a socket; numbers and plain structs go as they
 * lie in memory. Tensors do not go over the socket: they pass through memory that both have mapped
 * (STAGE_BYTES of it, in halves, so that one side fills while the other empties). */
#ifndef WS_RUNTIME_WIRE_H
#define WS_RUNTIME_WIRE_H

#include <sys/types.h>

#include "base/base.h"

enum { STAGE_HALF = 16 << 20, STAGE_BYTES = 2 * STAGE_HALF };

/* malloc'ed; zero is an empty one. Reading past the end gives zeros and sets bad. */
struct packet {
    unsigned char *p;
    size_t n, cap, at;
    bool bad;
};

void packet_clear(struct packet *k); /* keeps its memory */
void packet_free(struct packet *k);
void packet_put(struct packet *k, const void *p, size_t n);
void packet_put_u64(struct packet *k, uint64_t v);
void packet_put_text(struct packet *k, const char *text); /* NULL reads back as "" */
const void *packet_take(struct packet *k, size_t n);      /* valid until the packet changes */
void packet_get(struct packet *k, void *p, size_t n);
uint64_t packet_get_u64(struct packet *k);
const char *packet_get_text(struct packet *k);

/* Whole messages. Sending fails if the other side is gone; receiving also if nothing has begun to
 * come within limit_ms (INFINITY: wait), time in which this process was stopped not counted. */
enum wire_result { WIRE_OK, WIRE_GONE, WIRE_LATE, WIRE_STOPPED };
enum wire_result wire_send(int fd, const struct packet *k);
enum wire_result wire_receive(int fd, struct packet *k, double limit_ms, bool (*stopped)(void));

/* ---- the other process ----------------------------------------------------------------------- */

struct worker {
    pid_t pid; /* 0: none */
    int fd;
    unsigned char *stage; /* STAGE_BYTES, mapped by both; NULL if it was not asked for */
};

/* Run `/proc/self/exe worker WHAT` with its end of the socket as descriptor 3 and the stage as 4.
 * So that a program can have workers, its main answers that call with worker_main.
 * dies_with_thread: the system kills the worker when the calling thread ends, however it ends. */
enum ws_status worker_start(struct worker *w, const char *what, bool with_stage,
                            bool dies_with_thread, struct diag *d);
/* Close the socket, whose end the worker takes for the end of its work; worker_stop then waits, and
 * kills one that goes on. */
void worker_hang_up(struct worker *w);
void worker_stop(struct worker *w);
/* Kill it and say how it ended, in a's memory: "killed by signal 11 (Segmentation fault)".
 * is_dying: its end of the socket is closed, so it is waited for first, for a second at most.
 * *killed, which may be NULL: somebody else has ended it, not what it did itself. */
const char *worker_bury(struct worker *w, bool is_dying, struct arena *a, bool *killed);

enum { WORKER_SOCKET = 3, WORKER_STAGE = 4 };
unsigned char *worker_stage(void); /* mapped, in the worker */

/* remote_device.c and remote_toolchain.c: what a worker does until its parent is gone. */
int device_worker(void);
int toolchain_worker(void);

#endif

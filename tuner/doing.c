/* doing.c: a thread that waits for what is going on to take long. */
#include "tuner/doing.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "ws.h"

enum { LONGEST = 160 };

struct doing {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char what[LONGEST];
    double first_ms;
    double since_ms, next_ms; /* clock_ms; when it is to be said next */
    bool stop;
};

static void wait_until(struct doing *d, double ms) {
    struct timespec at = {.tv_sec = (time_t)(ms / 1e3)};
    at.tv_nsec = (long)((ms - (double)at.tv_sec * 1e3) * 1e6);
    pthread_cond_timedwait(&d->changed, &d->lock, &at);
}

/* A bar may stand in the line. */
static void say(struct doing *d, double now) {
    fprintf(stderr, "%s%s: %.0f s so far\n", isatty(STDERR_FILENO) ? "\r\033[K" : "", d->what,
            (now - d->since_ms) / 1e3);
    d->next_ms = now + (now - d->since_ms);
}

static void *watch(void *of) {
    struct doing *d = of;
    pthread_mutex_lock(&d->lock);
    while (!d->stop) {
        double now = clock_ms();
        if (!*d->what)
            pthread_cond_wait(&d->changed, &d->lock);
        else if (now < d->next_ms)
            wait_until(d, d->next_ms);
        else
            say(d, now);
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

struct doing *doing_start(double first_ms) {
    struct doing *d = calloc(1, sizeof *d);
    pthread_condattr_t monotonic;
    if (!d) return NULL;
    d->first_ms = first_ms;
    pthread_mutex_init(&d->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&d->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (!pthread_create(&d->thread, NULL, watch, d)) return d;
    free(d);
    return NULL;
}

void doing_what(struct doing *d, const char *what) {
    if (!d) return;
    pthread_mutex_lock(&d->lock);
    snprintf(d->what, sizeof d->what, "%s", what);
    d->since_ms = clock_ms();
    d->next_ms = d->since_ms + d->first_ms;
    pthread_cond_signal(&d->changed);
    pthread_mutex_unlock(&d->lock);
}

void doing_stop(struct doing *d) {
    if (!d) return;
    pthread_mutex_lock(&d->lock);
    d->stop = true;
    pthread_cond_signal(&d->changed);
    pthread_mutex_unlock(&d->lock);
    pthread_join(d->thread, NULL);
    pthread_cond_destroy(&d->changed);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

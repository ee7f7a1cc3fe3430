/* compile_pool.c: a list of jobs, a mutex, and as many threads as cores; for what is to be first,
 * half as many more. These begin at once, where all others are at large kernels for seconds. */
#include "tuner/compile_pool.h"

#include <pthread.h>
#include <stdlib.h>

enum { MAX_THREADS = 256 };

struct compile_job {
    const char *name, *source;
    bool want_ptx, done;
    struct compiled out;
    struct compile_job *next;   /* of all */
    struct compile_job *behind; /* of those that nobody has begun */
};

struct compile_pool {
    struct toolchain *toolchain;
    pthread_mutex_t lock;
    pthread_cond_t added, hurried, finished;
    bool stopping;
    struct compile_job *all;
    struct compile_job *todo, *last; /* that nobody has begun */
    struct compile_job *urgent;      /* of these, the last that was to be first; NULL: none is */
    int n_threads, n_more;
    pthread_t thread[MAX_THREADS], more[MAX_THREADS]; /* more: of urgent jobs */
};

static void do_first(struct compile_pool *p) {
    struct compile_job *j = p->todo;
    p->todo = j->behind;
    if (p->urgent == j) p->urgent = NULL;
    pthread_mutex_unlock(&p->lock);
    toolchain_compile(p->toolchain, j->name, j->source, j->want_ptx, &j->out);
    pthread_mutex_lock(&p->lock);
    j->done = true;
    pthread_cond_broadcast(&p->finished);
}

static void work_on(struct compile_pool *p, struct compile_job **jobs, pthread_cond_t *more) {
    pthread_mutex_lock(&p->lock);
    for (;;) {
        while (!*jobs && !p->stopping) pthread_cond_wait(more, &p->lock);
        if (p->stopping) break;
        do_first(p);
    }
    pthread_mutex_unlock(&p->lock);
}

static void *work(void *arg) {
    struct compile_pool *p = arg;
    work_on(p, &p->todo, &p->added);
    return NULL;
}

/* While any is urgent, the first is. */
static void *work_on_urgent(void *arg) {
    struct compile_pool *p = arg;
    work_on(p, &p->urgent, &p->hurried);
    return NULL;
}

/* They are started when the first job asks for them. */
static void start_more(struct compile_pool *p) {
    while (p->n_more < p->n_threads / 2)
        if (pthread_create(&p->more[p->n_more], NULL, work_on_urgent, p) == 0)
            p->n_more++;
        else
            break;
}

struct compile_pool *compile_pool_start(struct toolchain *t, int threads) {
    struct compile_pool *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->toolchain = t;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->added, NULL);
    pthread_cond_init(&p->hurried, NULL);
    pthread_cond_init(&p->finished, NULL);
    for (int i = 0; i < threads && i < MAX_THREADS; i++)
        if (pthread_create(&p->thread[p->n_threads], NULL, work, p) == 0) p->n_threads++;
    if (p->n_threads) return p;
    compile_pool_stop(p);
    return NULL;
}

static struct compile_job *add(struct compile_pool *p, const char *name, const char *source,
                               bool want_ptx, bool first) {
    struct compile_job *j = calloc(1, sizeof *j);
    if (!j) WS_BUG("out of memory for a compile job");
    *j = (struct compile_job){.name = name, .source = source, .want_ptx = want_ptx};
    pthread_mutex_lock(&p->lock);
    j->next = p->all;
    p->all = j;
    struct compile_job *before = first ? p->urgent : p->last;
    if (first ? before != NULL : p->todo != NULL)
        j->behind = before->behind, before->behind = j;
    else
        j->behind = p->todo, p->todo = j;
    if (first) p->urgent = j, start_more(p);
    if (!j->behind) p->last = j;
    pthread_cond_signal(&p->added);
    if (first) pthread_cond_signal(&p->hurried);
    pthread_mutex_unlock(&p->lock);
    return j;
}

struct compile_job *compile_pool_add(struct compile_pool *p, const char *name, const char *source,
                                     bool want_ptx) {
    return add(p, name, source, want_ptx, false);
}

struct compile_job *compile_pool_add_first(struct compile_pool *p, const char *name,
                                           const char *source) {
    return add(p, name, source, false, true);
}

struct compiled compile_pool_wait(struct compile_pool *p, struct compile_job *j) {
    pthread_mutex_lock(&p->lock);
    while (!j->done) pthread_cond_wait(&p->finished, &p->lock);
    struct compiled out = j->out;
    j->out = (struct compiled){0};
    pthread_mutex_unlock(&p->lock);
    return out;
}

void compile_pool_stop(struct compile_pool *p) {
    if (!p) return;
    pthread_mutex_lock(&p->lock);
    p->stopping = true;
    pthread_cond_broadcast(&p->added);
    pthread_cond_broadcast(&p->hurried);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->n_threads; i++) pthread_join(p->thread[i], NULL);
    for (int i = 0; i < p->n_more; i++) pthread_join(p->more[i], NULL);
    for (struct compile_job *j = p->all, *next; j; j = next) {
        next = j->next;
        compiled_free(&j->out);
        free(j);
    }
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->added);
    pthread_cond_destroy(&p->hurried);
    pthread_cond_destroy(&p->finished);
    free(p);
}

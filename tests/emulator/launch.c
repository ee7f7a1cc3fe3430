/* launch.c: run a kernel over its grid, once or in several orders. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/emulator/internal.h"

const char *emu_kind_name(enum emu_kind k) {
    static const char *const NAMES[] = {
#define EMU_KIND(name, printed) [EMU_##name] = printed,
        EMU_KINDS(EMU_KIND)
#undef EMU_KIND
    };
    return NAMES[k];
}

/* ---- the emulator --------------------------------------------------------------------------- */

struct emu *emu_new(void) {
    struct emu *e = calloc(1, sizeof *e);
    WS_ASSERT(e);
    e->host = (struct emu_host){
        .emu = e,
        .access = memory_access,
        .load = memory_load,
        .load_now = memory_load_now,
        .look = memory_look,
        .store = memory_store,
        .sync_block = sync_block,
        .sync_named = sync_named,
        .warp = sync_warp,
        .yield = block_yield,
        .cluster_rank = cluster_rank,
        .cluster_sync = cluster_sync,
        .cluster_arrive = cluster_arrive,
        .cluster_wait = cluster_wait,
        .cluster_load = cluster_load,
        .cluster_put = copy_put,
        .mbar_init = mbarrier_init,
        .mbar_arrive = mbarrier_arrive,
        .mbar_wait = mbarrier_wait,
        .cp_async = copy_cp_async,
        .bulk = copy_bulk,
        .commit = copy_commit,
        .wait = copy_wait,
        .fence_async = copy_fence,
        .map_prefetch = box_prefetch,
        .map_load = box_load,
        .mbar_arrive_at = mbarrier_arrive_at,
        .registers = matrix_registers,
        .operand = matrix_operand,
        .wgmma = matrix_wgmma,
        .wgmma_begin = matrix_begin,
        .wgmma_commit = matrix_commit,
        .wgmma_wait = matrix_wait,
        .tensor_make = tensor_make,
        .tensor_free = tensor_free,
        .tensor_fence = tensor_fence,
        .tensor_multiply = tensor_multiply,
        .tensor_commit = tensor_commit,
        .tensor_load = tensor_load,
        .tensor_wait = tensor_wait,
        .ldmatrix = mma_ldmatrix,
        .mma = mma_multiply,
    };
    e->threads = calloc(MAX_ALL, sizeof *e->threads);
    WS_ASSERT(e->threads);
    void *stacks = mmap(NULL, (size_t)MAX_ALL * STACK, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    WS_ASSERT(stacks != MAP_FAILED);
    e->stacks = stacks;
    return e;
}

void emu_free(struct emu *e) {
    if (!e) return;
    while (e->modules) emu_close(e->modules);
    while (e->buffers) emu_release(e, e->buffers->at);
    munmap(e->stacks, (size_t)MAX_ALL * STACK);
    sync_free(e);
    cluster_free(e);
    free(e->handler_stack);
    free(e->threads);
    free(e);
}

/* ---- one launch ----------------------------------------------------------------------------- */

static void __attribute__((format(printf, 3, 4)))
refuse(struct emu *e, enum emu_kind kind, const char *fmt, ...) {
    struct emu_report *r = &e->report;
    if (!r->ok) return;
    r->ok = false;
    r->kind = kind;
    int n =
        snprintf(r->message, sizeof r->message, "%s: %s: ", e->launch->kernel, emu_kind_name(kind));
    va_list ap;
    va_start(ap, fmt);
    if ((size_t)n < sizeof r->message)
        vsnprintf(r->message + n, sizeof r->message - (size_t)n, fmt, ap);
    va_end(ap);
}

static struct emu_index or_ones(const unsigned v[3]) {
    return (struct emu_index){v[0] ? v[0] : 1, v[1] ? v[1] : 1, v[2] ? v[2] : 1};
}

static enum emu_role role_of(const struct emu *e, int i) {
    char kind = e->entry->kinds[i];
    enum emu_role role = e->launch->roles ? e->launch->roles[i] : EMU_VALUE;
    if (kind == 'm') return role == EMU_VALUE ? EMU_IN : role;
    if (e->launch->roles) return role;
    return kind == 'c' ? EMU_IN : kind == 'p' ? EMU_OUT : EMU_VALUE;
}

/* One buffer under several arguments: the most that any of them does with it. */
static enum emu_role join(enum emu_role a, enum emu_role b) {
    if (a == EMU_VALUE || a == b) return b;
    if (b == EMU_VALUE) return a;
    return a != EMU_IN && b != EMU_IN && a != EMU_INOUT && b != EMU_INOUT ? EMU_SCRATCH : EMU_INOUT;
}

static void bind_argument(struct emu *e, int i) {
    enum emu_role role = role_of(e, i);
    bool points = e->entry->kinds[i] != 'v';
    if (!points && role == EMU_VALUE) return;
    /* The address is the first thing in a k_map. */
    void *at = points ? *(void **)e->launch->args[i] : NULL;
    struct buffer *b = at ? memory_buffer(e, at) : NULL;
    if (!points || role == EMU_VALUE)
        refuse(e, EMU_BAD_LAUNCH, "argument %d %s a pointer, its role is not that", i,
               points ? "is" : "is not");
    else if (e->entry->kinds[i] == 'c' && role != EMU_IN)
        refuse(e, EMU_BAD_LAUNCH, "argument %d points to const, its role says that it is written",
               i);
    else if (!b && at)
        refuse(e, EMU_BAD_LAUNCH, "argument %d points into no buffer", i);
    else if (b)
        b->role = join(b->role, role);
}

static void prepare_buffers(struct emu *e) {
    for (struct buffer *b = e->buffers; b; b = b->next) {
        if (b->role == EMU_OUT || b->role == EMU_SCRATCH) memory_poison(b->at, b->bytes);
        if (b->role == EMU_VALUE || b->role == EMU_IN || b->shadow) continue;
        b->shadow = calloc(b->bytes + 1, sizeof *b->shadow);
        WS_ASSERT(b->shadow);
    }
}

static void bind(struct emu *e) {
    const struct emu_launch *l = e->launch;
    struct emu_index grid = or_ones(l->grid), size = or_ones(l->threads);
    uint64_t threads = (uint64_t)size.x * size.y * size.z;
    unsigned cluster = l->cluster ? l->cluster : 1, at_work = l->all_at_work ? grid.x : cluster;
    if (threads > MAX_THREADS)
        refuse(e, EMU_BAD_LAUNCH, "%llu threads, a block has at most 1024",
               (unsigned long long)threads);
    if (grid.y > 65535 || grid.z > 65535) refuse(e, EMU_BAD_LAUNCH, "grid y and z end at 65535");
    if (l->shared > EMU_SHARED_MAX)
        refuse(e, EMU_BAD_LAUNCH, "%zu bytes of shared memory, there are %d", l->shared,
               EMU_SHARED_MAX);
    if (l->all_at_work && (at_work > MAX_BLOCKS || threads * at_work > MAX_ALL))
        refuse(e, EMU_BAD_LAUNCH, "%u blocks at a time, there is room for %d of 256 threads",
               at_work, MAX_BLOCKS);
    else if (cluster > MAX_CLUSTER)
        refuse(e, EMU_BAD_LAUNCH, "clusters of %u blocks, they have at most 16", cluster);
    else if (grid.x % cluster != 0)
        refuse(e, EMU_BAD_LAUNCH, "%u blocks in x are no multiple of the cluster's %u", grid.x,
               cluster);
    if (l->n_args != e->entry->n_params)
        refuse(e, EMU_BAD_LAUNCH, "%d arguments for %d parameters", l->n_args, e->entry->n_params);
    for (struct buffer *b = e->buffers; b; b = b->next) b->role = EMU_VALUE;
    for (int i = 0; i < l->n_args && e->report.ok; i++) bind_argument(e, i);
    if (!e->report.ok) return;
    e->n_threads = (unsigned)threads;
    e->n_blocks = at_work;
    e->n_cluster = cluster;
    for (; e->n_guarded < threads * at_work; e->n_guarded++)
        mprotect(block_stack(e, e->n_guarded), GUARD, PROT_NONE);
    *e->module->table->block_size = size;
    *e->module->table->grid_size = grid;
    prepare_buffers(e);
}

static void run_clusters(struct emu *e) {
    struct emu_index grid = *e->module->table->grid_size;
    uint64_t wide = grid.x / e->n_blocks, n = wide * grid.y * grid.z;
    for (uint64_t i = 0; i < n && e->report.ok; i++) {
        uint64_t k = e->launch->order == EMU_REVERSE ? n - 1 - i : i;
        for (unsigned r = 0; r < e->n_blocks; r++)
            e->blocks[r].at =
                (struct emu_index){(unsigned)(k % wide) * e->n_blocks + r,
                                   (unsigned)(k / wide % grid.y), (unsigned)(k / wide / grid.y)};
        block_run_cluster(e);
    }
}

static void check_outputs(struct emu *e) {
    for (const struct buffer *b = e->buffers; b && e->report.ok; b = b->next) {
        size_t at;
        if (b->role == EMU_OUT && memory_unwritten(e, b, &at))
            refuse(e, EMU_UNWRITTEN_OUTPUT, "byte %zu of %s, which has %zu, is never written", at,
                   b->name, b->bytes);
    }
}

/* The clock of the shadows runs on from launch to launch; before it overflows all are wiped. */
static void start_clock(struct emu *e) {
    if (e->now > UINT32_MAX / 2) {
        for (struct buffer *b = e->buffers; b; b = b->next) {
            free(b->shadow);
            b->shadow = NULL;
        }
        sync_free(e);
        cluster_free(e);
        e->now = 0;
    }
    e->run_start = ++e->now;
}

struct emu_report emu_run(struct emu_module *m, const struct emu_launch *l) {
    struct emu *e = m->emu;
    e->report = (struct emu_report){.ok = true};
    e->launch = l;
    e->module = m;
    e->entry = NULL;
    e->random = l->seed * 2 + 1;
    for (int i = 0; i < m->table->n_entries; i++)
        if (strcmp(m->table->entries[i].name, l->kernel) == 0) e->entry = &m->table->entries[i];
    start_clock(e);
    if (!e->entry)
        refuse(e, EMU_BAD_LAUNCH, "no such kernel in this module");
    else if (!module_locate_shared(m))
        refuse(e, EMU_BAD_LAUNCH, "cannot find the module's thread-local memory");
    else
        bind(e);
    if (e->report.ok) {
        cluster_prepare(e);
        sync_prepare(e);
    }
    if (e->report.ok) {
        overflow_watch(e);
        run_clusters(e);
        overflow_unwatch(e);
    }
    if (e->report.ok) check_outputs(e);
    return e->report;
}

/* ---- all orders ----------------------------------------------------------------------------- */

/* What the buffers hold, one after another. */
static size_t total_bytes(const struct emu *e) {
    size_t n = 0;
    for (const struct buffer *b = e->buffers; b; b = b->next) n += b->bytes;
    return n;
}

static unsigned char *save(const struct emu *e) {
    unsigned char *all = malloc(total_bytes(e) + 1), *p = all;
    WS_ASSERT(all);
    for (const struct buffer *b = e->buffers; b; p += b->bytes, b = b->next)
        memcpy(p, b->at, b->bytes);
    return all;
}

static void restore(struct emu *e, const unsigned char *p) {
    for (struct buffer *b = e->buffers; b; p += b->bytes, b = b->next) memcpy(b->at, p, b->bytes);
}

static void compare(struct emu *e, const unsigned char *p, const char *order) {
    for (struct buffer *b = e->buffers; b; p += b->bytes, b = b->next) {
        if (b->role != EMU_OUT && b->role != EMU_INOUT) continue;
        for (size_t i = 0; i < b->bytes; i++)
            if (b->at[i] != p[i]) {
                refuse(e, EMU_ORDER, "byte %zu of %s is another one when threads run %s", i,
                       b->name, order);
                return;
            }
    }
}

struct emu_report emu_check(struct emu_module *m, const struct emu_launch *l) {
    static const struct {
        enum emu_order order;
        const char *text;
    } ORDERS[] = {{EMU_FORWARD, "forward"},
                  {EMU_REVERSE, "in reverse"},
                  {EMU_RANDOM, "in random order"},
                  {EMU_RANDOM, "in random order"}};
    struct emu *e = m->emu;
    struct emu_launch run = *l;
    struct emu_report r = {.ok = true};
    unsigned char *before = save(e), *first = NULL;
    for (size_t i = 0; i < sizeof ORDERS / sizeof *ORDERS && r.ok; i++) {
        run.order = ORDERS[i].order;
        run.seed = l->seed + i;
        if (i > 0) restore(e, before);
        r = emu_run(m, &run);
        if (r.ok && first && !l->order_matters) compare(e, first, ORDERS[i].text);
        r = e->report;
        if (!first) first = save(e);
    }
    e->launch = NULL;
    free(before);
    free(first);
    return r;
}

/* Launches whose arguments are tensor maps: bound to memory, held against each other, and made anew
 * where a symbol has another value. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "runtime/vtable.h"
#include "tuner/plan.h"

static const struct ws_map MAP = {.dtype = DT_BF16,
                                  .rank = 2,
                                  .size = {4096, 100},
                                  .stride = {2, 8192},
                                  .box = {64, 128},
                                  .swizzle = 128};

/* One launch: a buffer, and maps of another buffer, from its 16th byte on, and of the workspace. */
static struct ws_source source_of(const struct ws_map *map, struct arena *a) {
    struct ws_source s = {
        .text = "text", .n_launches = 1, .launches = NEW(a, struct ws_launch), .workspace = 512};
    s.launches[0] =
        (struct ws_launch){.entry = "mm", .grid = {1, 1, 1}, .threads = 128, .n_args = 3};
    s.launches[0].args[0] = (struct ws_arg){.kind = WS_ARG_BUFFER, .buffer = 1};
    s.launches[0].args[1] = (struct ws_arg){
        .kind = WS_ARG_MAP, .base = WS_ARG_BUFFER, .buffer = 0, .value = 16, .map = map};
    s.launches[0].args[2] =
        (struct ws_arg){.kind = WS_ARG_MAP, .base = WS_ARG_WORKSPACE, .value = 256, .map = map};
    return s;
}

static void expect_bound(const struct tensor_map *m, uint64_t address) {
    assert_non_null(m);
    assert_int_equal(m->address, address);
    assert_int_equal(m->dtype, MAP.dtype);
    assert_int_equal(m->rank, 2);
    assert_memory_equal(m->size, MAP.size, sizeof MAP.size);
    assert_memory_equal(m->stride, MAP.stride, sizeof MAP.stride);
    assert_memory_equal(m->box, MAP.box, sizeof MAP.box);
    assert_int_equal(m->swizzle, 128);
    assert_false(m->tf32);
}

static void test_bound(void **state) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct device dev = {.generation = 0};
    struct machine machine = {.arena = a, .device = &dev};
    dptr at[] = {0x10000, 0x20000};
    struct buffers b = {
        .machine = &machine, .arena = a, .at = at, .scratch = 0x30000, .scratch_bytes = 512};
    char module;
    struct variant v = {.source = source_of(&MAP, a), .module = (struct module *)&module};
    struct launches l;
    (void)state;
    assert_int_equal(variant_launches(&v, &b, &l, &d), WS_OK);
    assert_int_equal(l.n, 1);
    assert_int_equal(l.at[0].n_args, 3);
    assert_null(l.at[0].maps[0]);
    assert_int_equal(*(uint64_t *)l.at[0].args[0], 0x20000);
    expect_bound(l.at[0].maps[1], 0x10010);
    expect_bound(l.at[0].maps[2], 0x30100);
    arena_free(a);
}

/* Two variants with one text are the same only if their maps are. */
static void test_same(void **state) {
    struct arena *a = arena_new();
    struct ws_map others[] = {MAP, MAP, MAP, MAP, MAP, MAP, MAP};
    struct variant v = {.source = source_of(&MAP, a), .binary = "x", .size = 1}, w = v;
    const char *hash = source_hash(&v.source, a);
    (void)state;
    others[1].swizzle = 64;
    others[2].box[1] = 64;
    others[3].size[1]++;
    others[4].stride[1] += 16;
    others[5].dtype = DT_F16;
    others[6].rank = 1;
    for (int i = 0; i < 7; i++) {
        w.source = source_of(&others[i], a);
        assert_int_equal(variant_same(&v, &w), i == 0);
        assert_int_equal(!strcmp(source_hash(&w.source, a), hash), i == 0);
    }
    w.source = source_of(&MAP, a);
    w.source.launches[0].args[1].value = 32;
    assert_false(variant_same(&v, &w));
    assert_string_not_equal(source_hash(&w.source, a), hash);
    w.source = source_of(&MAP, a);
    w.source.launches[0].args[1].base = WS_ARG_WORKSPACE;
    assert_false(variant_same(&v, &w));
    assert_string_not_equal(source_hash(&w.source, a), hash);
    arena_free(a);
}

static void test_renewed(void **state) {
    struct arena *a = arena_new();
    struct exprs *p = exprs_new(a);
    ex n = ex_size(p, "n", 2, 100), k = ex_size(p, "k", 2, 4096);
    struct ws_map map = MAP;
    struct variant v = {.source = source_of(&map, a)};
    struct ws_arg *args = v.source.launches[0].args;
    (void)state;
    map.size_expr[0] = k;
    map.size_expr[1] = n;
    map.stride_expr[1] = ex_mul(p, k, ex_const(p, 2));
    args[0] = (struct ws_arg){.kind = WS_ARG_SIZE, .value = 100, .expr = n};
    ex_set_hint(p, n, 50);
    variant_renew(&v, p, n, a);
    assert_int_equal(args[0].value, 50);
    assert_int_equal(args[1].map->size[1], 50);
    assert_int_equal(args[2].map->size[1], 50);
    assert_int_equal(args[1].map->size[0], 4096);
    ex_set_hint(p, k, 64);
    variant_renew(&v, p, k, a);
    assert_int_equal(args[0].value, 50);
    assert_int_equal(args[1].map->size[0], 64);
    assert_int_equal(args[1].map->stride[0], 2);
    assert_int_equal(args[1].map->stride[1], 128);
    assert_int_equal(map.size[1], 100); /* as it was emitted */
    const struct ws_map *kept = args[1].map;
    variant_renew(&v, p, k, a);
    assert_ptr_equal(args[1].map, kept);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bound),
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_renewed),
    };
    return cmocka_run_group_tests_name("tuner_map", tests, NULL, NULL);
}

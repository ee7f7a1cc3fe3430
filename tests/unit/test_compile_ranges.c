/* test_compile_ranges.c: functions that are cheaper of what is known to be in some range, where the
 * range just holds, or does not: generated CUDA on the emulator, on which these functions give nan
 * of what is beyond it. */
#include "generated_test.h"

/* relu leaves zeros, beside which 1e-8 is nothing in f16. */
static const char *const texts[] = {
    "graph(%x: f32[300]) {\n %r = relu(%x)\n %a = add(%r, 1e-8)\n %h = to(%a, f16)\n"
    " %f = to(%h, f32)\n %y = sqrt(%f)\n return %y\n}\n",
    "graph(%x: f16[300]) {\n %r = relu(%x)\n %a = add(%r, 1e-8)\n %y = sqrt(%a)\n return %y\n}\n",
    "graph(%x: f32[300]) {\n %r = relu(%x)\n %a = add(%r, 1e-4)\n %h = to(%a, f16)\n"
    " %f = to(%h, f32)\n %y = sqrt(%f)\n return %y\n}\n",
    "graph(%x: f32[300]) {\n %r = relu(%x)\n %a = add(%r, 1e-8)\n %h = to(%a, bf16)\n"
    " %f = to(%h, f32)\n %y = sqrt(%f)\n return %y\n}\n",
    "graph(%x: f32[300]) {\n %r = relu(%x)\n %n = neg(%r)\n %e = exp(%n)\n %a = sub(1, %e)\n"
    " %y = sqrt(%a)\n return %y\n}\n",
    "graph(%x: f32[300]) {\n %a = mul(%x, 5)\n %e = exp(%a)\n %y = sqrt(%e)\n return %y\n}\n",
    "graph(%x: f32[300]) {\n %t = tanh(%x)\n %a = add(%t, 1)\n %y = sqrt(%a)\n %s = sin(%t)\n"
    " %b = mul(%t, 30)\n %c = cos(%b)\n return %y, %s, %c\n}\n",
};

static void cases_ranges(struct arena *a, case_vec *out) {
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct case_graph g = {.text = texts[i], .every = 64};
        vec_push(a, out, g);
    }
}

int main(int argc, char **argv) {
    return generated_main(argc, argv, cases_ranges, 1, "test_emulated", test_emulated);
}

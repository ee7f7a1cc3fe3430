/* test_kernel_sweeps.c: where rules change their mind. Each family is one graph in which a number
 * grows past the limits that the scheduler and the kernels have: operators behind a product,
 * arguments, outputs, the length of a row. tests/golden/digests/sweeps has a line for each family
 * and device, as digest_test.h says; before the digests it says how many kernels there are, from
 * which number on:
 *
 *   inputs, sm_90a | 1: 1, 32: 2, 63: 3 | groups 1f0c | bodies 77a1 | configs 90ee
 *
 * In a family's text $ is the number; what stands in <> is repeated so many times, where @ is the
 * repetition, from 1 on, and ~ the one before. */
#include "digest_test.h"
#include "lower_test.h"

struct family {
    const char *name, *text;
    int first, last; /* of the number */
    int step;        /* 0: powers of 2, and one less and one more */
    const char *sizes;
};

#define PRODUCT " %y0 = mm(%a, %w)\n"
#define FACTORS "%a: bf16[256, 512], %w: bf16[512, 256]"

static const struct family families[] = {
    {"chain", "graph(%y0: f32[64, 96]) {\n< %y@ = sigmoid(%y~)\n> return %y$\n}\n", 1, 700, 37, ""},
    {"sums", "graph(%y0: f32[64, 96], %x: f32[64, 96]) {\n< %y@ = add(%x, %y~)\n> return %y$\n}\n",
     1, 500, 83, ""},
    {"behind a product", "graph(" FACTORS ") {\n" PRODUCT "< %y@ = sigmoid(%y~)\n> return %y$\n}\n",
     38, 48, 1, ""},
    {"behind a product, made again",
     "graph(%a: f32[64, 32], %w: f32[32, 48], %x: f32[64, 48]) {\n %e = exp(%x)\n"
     " %c = sum(%e, 0)\n %m = mm(%a, %w)\n %y0 = mul(%m, %e)\n< %y@ = mul(%y~, %m)\n>"
     " return %c, %y$\n}\n",
     1, 141, 5, ""},
    {"a factor",
     "graph(%x: bf16[16, 4096], %i: i8[4096, 1024], %s: bf16[4096, 1]) {\n"
     " %y0 = bfloat16(%i)\n< %y@ = mul(%y~, %s)\n> %m = mm(%x, %y$)\n return %m\n}\n",
     1, 20, 1, ""},
    {"work of a factor",
     "graph(%x: bf16[16, 4096], %w: bf16[4096, 1024], %y0: bf16[4096, 1]) {\n"
     "< %y@ = mul(%w, 0.@)\n> %z = add(%y1, %y$)\n %m = mm(%x, %z)\n return %m\n}\n",
     1, 30, 1, ""},
    {"work made again",
     "graph(%y0: f32[512, 1024]) {\n< %y@ = add(%y~, 0.5)\n> %s = sum(%y$, 1)\n"
     " %c = sum(%y$, 0)\n %t = permute(%y$, [1, 0])\n %q = mul(%t, 2)\n return %s, %c, %q\n}\n",
     1, 60, 1, ""},
    {"calls made again",
     "graph(%y0: f32[512, 1024]) {\n< %y@ = tanh(%y~)\n> %s = sum(%y$, 1)\n"
     " %c = sum(%y$, 0)\n return %s, %c\n}\n",
     1, 20, 1, ""},
    {"inputs",
     "graph(%y0: f32[64, 96]<, %x@: f32[64, 96]>) {\n< %y@ = add(%y~, %x@)\n>"
     " return %y$\n}\n",
     1, 70, 1, ""},
    {"inputs of a product",
     "graph(" FACTORS "<, %x@: bf16[256, 256]>) {\n" PRODUCT
     "< %y@ = mul(%y~, %x@)\n> return %y$\n}\n",
     1, 40, 1, ""},
    {"inputs of rows",
     "graph(%y0: f32[64, 96]<, %x@: f32[64, 1]>) {\n< %y@ = mul(%y~, %x@)\n>"
     " %s = sum(%y$, 1)\n return %s\n}\n",
     1, 40, 1, ""},
    {"outputs", "graph(%x: f32[64, 96]) {\n< %y@ = mul(%x, 0.@)\n> return %y1<, %y@>\n}\n", 1, 70,
     3, ""},
    {"sums of rows",
     "graph(%x: f32[64, 96]<, %x@: f32[64, 96]>) {\n< %y@ = mul(%x, %x@)\n"
     " %s@ = sum(%y@, 1)\n> return %s1<, %s@>\n}\n",
     1, 40, 3, ""},
    {"rows behind rows",
     "graph(%y0: f32[64, 96]) {\n< %s@ = amax(%y~, 1, True)\n"
     " %y@ = sub(%y~, %s@)\n> return %y$\n}\n",
     1, 30, 1, ""},
    {"pieces",
     "graph(%x: f32[64, 32]<, %x@: f32[64, 8]>) {\n %c = cat([%x<, %x@>], 1)\n"
     " %y = exp(%c)\n return %y\n}\n",
     1, 33, 8, ""},
    {"arms",
     "graph(%x: f32[64, 32], %w: f32[32, 48], %r: f32[64, 48]) {\n %m = mm(%x, %w)\n"
     " %s = stack([%r<, %m>], 1)\n return %s\n}\n",
     1, 12, 1, ""},
    {"arms of two axes",
     "graph(%x: f32[64, 32], %w: f32[32, 48], %r: f32[$, s0, 64, 48]) {\n"
     " %m = mm(%x, %w)\n %u = mul(%m, %r)\n return %u\n}\n",
     1, 12, 1, "s0=3"},
    {"arms in the middle",
     "graph(%x: f32[64, 32], %w: f32[32, 48], %r: f32[64, $, s0, 48]) {\n"
     " %m = mm(%x, %w)\n %v = view(%m, [64, 1, 1, 48])\n %u = mul(%v, %r)\n return %u\n}\n",
     1, 12, 1, "s0=3"},
    {"arms of sums",
     "graph(%x: f32[64, 9, 9]) {\n %s = sum(%x, 1)\n %e = exp(%s)\n"
     " %c = cat([%s<, %e>], 1)\n return %c\n}\n",
     1, 12, 1, ""},
    {"ranks",
     "graph(%x: f32[2<, 3>], %y: f32[<2, >3]) {\n %r = exp(%x)\n %s = sum(%r, -1)\n"
     " %q = sum(%y, 0)\n return %s, %q\n}\n",
     1, 7, 1, ""},
    {"length of rows", "graph(%x: f32[512, $]) {\n %y = softmax(%x, 1)\n return %y\n}\n", 2,
     1 << 20, 0, ""},
    {"rows of bf16",
     "graph(%x: bf16[$, 1000], %w: bf16[1000]) {\n %y = rms_norm(%x, [1000], %w)\n"
     " return %y\n}\n",
     1, 1 << 20, 0, ""},
    {"length of columns", "graph(%x: f32[$, 384]) {\n %y = sum(%x, 0)\n return %y\n}\n", 2, 1 << 20,
     0, ""},
    {"columns",
     "graph(%x: f32[4096, $]) {\n %y = sum(%x, 0)\n %z = amax(%x, 0)\n"
     " return %y, %z\n}\n",
     1, 1 << 15, 0, ""},
    {"sum of all", "graph(%x: f32[$]) {\n %y = sum(%x)\n return %y\n}\n", 1, 1 << 28, 0, ""},
    {"elements", "graph(%x: bf16[$], %y: bf16[$]) {\n %z = mul(%x, %y)\n return %z\n}\n", 1,
     1 << 28, 0, ""},
    {"scan", "graph(%x: f32[48, $]) {\n %y = cumsum(%x, 1)\n return %y\n}\n", 2, 1 << 20, 0, ""},
    {"scan of columns", "graph(%x: f32[$, 48]) {\n %y = cumsum(%x, 0)\n return %y\n}\n", 2, 1 << 16,
     0, ""},
    {"turned",
     "graph(%x: f32[$, 768]) {\n %p = permute(%x, [1, 0])\n %y = relu(%p)\n"
     " return %y\n}\n",
     1, 1 << 14, 0, ""},
    {"rows of a product",
     "graph(%a: bf16[$, 512], %w: bf16[512, 768], %b: bf16[768]) {\n"
     " %m = mm(%a, %w)\n %c = add(%m, %b)\n %y = relu(%c)\n return %y\n}\n",
     1, 1 << 14, 0, ""},
    {"columns of a product",
     "graph(%a: bf16[640, 512], %w: bf16[512, $]) {\n %m = mm(%a, %w)\n"
     " %y = relu(%m)\n %s = sum(%y, 1)\n return %y, %s\n}\n",
     1, 1 << 14, 0, ""},
    {"depth of a product",
     "graph(%a: bf16[160, $], %w: bf16[$, 96]) {\n %m = mm(%a, %w)\n"
     " return %m\n}\n",
     1, 1 << 16, 0, ""},
    {"rows of a plain product",
     "graph(%a: f32[$, 96], %w: f32[96, 100]) {\n %m = mm(%a, %w)\n"
     " return %m\n}\n",
     1, 1 << 13, 0, ""},
    {"abreast",
     "graph(%x: f32[$, 512], %y: f32[$, 512]) {\n %a = exp(%x)\n %b = neg(%y)\n"
     " return %a, %b\n}\n",
     1, 1 << 15, 0, ""},
    {"rows and columns",
     "graph(%x: f32[$, 1024]) {\n %s = sum(%x, 1)\n %c = sum(%x, 0)\n"
     " return %s, %c\n}\n",
     1, 1 << 17, 0, ""},
    {"looked up",
     "graph(%i: i64[$], %w: f32[1000, 64]) {\n %e = embedding(%i, %w)\n"
     " %y = relu(%e)\n return %y\n}\n",
     1, 1 << 18, 0, ""},
    {"landing",
     "graph(%x: f32[100, 64], %i: i64[$], %s: f32[$, 64]) {\n"
     " %y = index_add(%x, 0, %i, %s)\n return %y\n}\n",
     1, 1 << 16, 0, ""},
    {"pooling",
     "graph(%x: f32[8, 16, 40, 40]) {\n %y = max_pool(%x, [$], [2], [0])\n"
     " return %y\n}\n",
     1, 20, 1, ""},
    {"convolution",
     "graph(%x: bf16[2, $, 20, 20], %w: bf16[64, $, 3, 3]) {\n"
     " %y = convolution(%x, %w, None, 1, 1)\n return %y\n}\n",
     1, 1 << 9, 0, ""},
    {"attention",
     "graph(%q: bf16[2, 4, 512, $], %k: bf16[2, 4, 512, $], %v: bf16[2, 4, 512, $]) {\n"
     " %o = scaled_dot_product_attention(%q, %k, %v)\n return %o\n}\n",
     8, 1 << 9, 0, ""},
    {"symbolic",
     "graph(%x: bf16[s0, $], %y: bf16[$]) {\n %a = mul(%x, %y)\n %b = softmax(%a, 1)\n"
     " return %b\n}\n",
     1, 1 << 16, 0, "s0=100"},
};
enum { N_FAMILIES = sizeof families / sizeof *families };

static void put_text(struct buf *b, const char *text, int n) {
    for (const char *p = text; *p; p++) {
        const char *end = *p == '<' ? strchr(p, '>') : NULL;
        for (int i = 1; end && i <= n; i++)
            for (const char *q = p + 1; q < end; q++)
                if (*q == '@' || *q == '~')
                    buf_printf(b, "%d", *q == '@' ? i : i - 1);
                else
                    buf_putc(b, *q);
        if (end)
            p = end;
        else if (*p == '$')
            buf_printf(b, "%d", n);
        else
            buf_putc(b, *p);
    }
}

struct texts {
    struct buf kernels, groups, bodies, configs;
    uint32_t last; /* how many kernels there were */
};

static void print_kernel(struct texts *t, const struct schedule *s, uint32_t g,
                         const struct device_limits *limits) {
    enum { SOME = 5 };
    const struct kernel *k = must_build(s, g, limits);
    const struct config *c;
    int n, pruned;
    kernel_print(&t->bodies, k);
    kernel_configs(k, s->arena, &c, &n, &pruned);
    buf_printf(&t->configs, "%d, %d pruned\n", n, pruned);
    for (int i = 0; i < n; i += n / SOME + 1) {
        struct layout y;
        const char *why = kernel_layout(k, &c[i], &y, s->arena);
        if (why) fail_msg("%s: %s", config_str(s->arena, &c[i]), why);
        buf_printf(&t->configs, "%s: %.3g us\n", config_str(s->arena, &c[i]), kernel_cost(k, &y));
    }
}

static void print_number(struct texts *t, const struct family *f, int n,
                         const struct device_limits *limits) {
    struct arena *a = arena_new();
    struct buf text = buf_new(a);
    put_text(&text, f->text, n);
    struct schedule *s = must_schedule(a, text.p, f->sizes, limits, false);
    if (s->groups.n != t->last)
        buf_printf(&t->kernels, "%s%d: %u", t->last ? ", " : "", n, s->groups.n);
    t->last = s->groups.n;
    buf_puts(&t->groups, s->log.p ? s->log.p : "");
    schedule_print(&t->groups, s);
    schedule_print_memory(&t->groups, s);
    for (uint32_t g = 0; g < s->groups.n; g++) print_kernel(t, s, g, limits);
    arena_free(a);
}

static void print_family(struct buf *to, const struct family *f,
                         const struct device_limits *limits) {
    struct arena *a = arena_new();
    struct line l = line_of(a, arena_printf(a, "%s, %s", f->name, limits->arch));
    struct texts t = {buf_new(a), buf_new(a), buf_new(a), buf_new(a), 0};
    if (f->step)
        for (int n = f->first; n <= f->last; n += f->step * PART) print_number(&t, f, n, limits);
    for (int64_t n = 2; !f->step && n <= f->last; n *= 2 * PART)
        for (int more = -1; more <= 1; more++)
            if (n + more >= f->first) print_number(&t, f, (int)n + more, limits);
    buf_printf(&l.text, " | %s", t.kernels.p);
    add_digest(&l, "groups", &t.groups);
    add_digest(&l, "bodies", &t.bodies);
    add_digest(&l, "configs", &t.configs);
    end_line(to, &l);
    arena_free(a);
}

static void test_sweeps(void **state) {
    struct arena *a = arena_new();
    struct buf all = buf_new(a);
    struct device_limits gpu = test_gpu("sm_90a"), cpu = test_cpu();
    for (int i = 0; i < N_FAMILIES; i++) {
        print_family(&all, &families[i], &gpu);
        print_family(&all, &families[i], &cpu);
    }
    int wrong = judge_lines("sweeps", all.p, a);
    arena_free(a);
    if (wrong) fail_msg("%d lines differ", wrong);
}

int main(int argc, char **argv) { return digest_main(argc, argv, "test_sweeps", test_sweeps); }

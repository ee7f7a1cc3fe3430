/* Both toolchains, with no device: NVRTC where it is installed, the system's C compiler everywhere.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/cuda/cuda_device.h"

static const char AXPY[] =
    "extern \"C\" __global__ void axpy(float *y, const float *x, float a, long long n) {\n"
    "    long long i = blockIdx.x * 256ll + threadIdx.x;\n"
    "    if (i < n) y[i] += a * x[i];\n"
    "}\n";

struct fixture {
    struct arena *arena;
    struct env env;
    struct diag diag;
};

static int setup(void **state) {
    static struct fixture f;
    f.arena = arena_new();
    f.env = env_read(f.arena);
    f.diag = diag_new(f.arena);
    *state = &f;
    return 0;
}

static int teardown(void **state) {
    arena_free(((struct fixture *)*state)->arena);
    return 0;
}

/* NVRTC for arch, or the test is skipped where the library is not installed. */
static struct toolchain *open_nvrtc(struct fixture *f, const char *arch) {
    struct toolchain *t = NULL;
    if (toolchain_open(DEVICE_CUDA, arch, &f->env, f->arena, &f->diag, &t) != WS_OK) {
        if (strstr(f->diag.text, "libnvrtc.so not found")) skip();
        fail_msg("%s", f->diag.text);
    }
    return t;
}

static bool is_elf(const struct compiled *c) {
    return c->size > 64 && !memcmp(c->binary,
                                   "\x7f"
                                   "ELF",
                                   4);
}

/* ---- NVRTC ------------------------------------------------------------------------------------
 */

static void test_every_arch_gives_cubin_and_ptx(void **state) {
    static const char *const archs[] = {"sm_80", "sm_89", "sm_90a", "sm_100"};
    for (unsigned i = 0; i < sizeof archs / sizeof *archs; i++) {
        struct toolchain *t = open_nvrtc(*state, archs[i]);
        struct compiled c;
        toolchain_compile(t, "axpy.cu", AXPY, true, &c);
        assert_true(c.ok);
        assert_true(is_elf(&c));
        assert_non_null(c.ptx);
        assert_non_null(strstr(c.ptx, ".entry axpy"));
        assert_non_null(strstr(c.ptx, archs[i])); /* .target */
        assert_false(c.serialized);
        assert_true(c.ms > 0);
        compiled_free(&c);
        toolchain_compile(t, "axpy.cu", AXPY, false, &c);
        assert_true(c.ok);
        assert_null(c.ptx);
        compiled_free(&c);
        assert_null(c.binary);
        toolchain_close(t);
    }
}

/* The runtime's own kernels, which only a GPU can run. */
static void test_helper_kernels_compile(void **state) {
    struct fixture *f = *state;
    static const char *const archs[] = {"sm_80", "sm_90a", "sm_120"};
    static const char *const entries[] = {"ws_flush", "ws_copy_2x1", "ws_copy_4x8_streaming",
                                          "ws_compare", "ws_find_changed"};
    for (unsigned i = 0; i < sizeof archs / sizeof *archs; i++) {
        struct compiled c;
        toolchain_compile(open_nvrtc(f, archs[i]), "helpers.cu", helpers_source(f->arena), true,
                          &c);
        if (!c.ok) fail_msg("%s", c.log);
        assert_string_equal(c.log, "");
        for (unsigned k = 0; k < sizeof entries / sizeof *entries; k++)
            assert_non_null(strstr(c.ptx, arena_printf(f->arena, ".entry %s(", entries[k])));
        compiled_free(&c);
    }
}

static void test_version_has_three_numbers(void **state) {
    struct toolchain *t = open_nvrtc(*state, "sm_90a");
    int a, b, c;
    assert_int_equal(sscanf(toolchain_version(t), "NVRTC %d.%d.%d", &a, &b, &c), 3);
    assert_true(a >= 12);
}

static void test_syntax_error_is_in_the_log(void **state) {
    struct toolchain *t = open_nvrtc(*state, "sm_90a");
    struct compiled c;
    toolchain_compile(t, "softmax_k0.cu", "extern \"C\" __global__ void f() {\n    int x = ;\n}\n",
                      true, &c);
    assert_false(c.ok);
    assert_null(c.binary);
    assert_non_null(strstr(c.log, "softmax_k0.cu(2)"));
    assert_non_null(strstr(c.log, "expected an expression"));
    compiled_free(&c);
}

static void test_bad_arch(void **state) {
    struct fixture *f = *state;
    static const char *const bad[] = {"sm_9", "compute_90", "sm_90b", "", "sm_90a --help"};
    struct toolchain *t;
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct diag d = diag_new(f->arena);
        assert_int_equal(toolchain_open(DEVICE_CUDA, bad[i], &f->env, f->arena, &d, &t), WS_USAGE);
        assert_null(t);
    }
    open_nvrtc(f, "sm_90a");
    struct diag d = diag_new(f->arena);
    assert_int_equal(toolchain_open(DEVICE_CUDA, "sm_35", &f->env, f->arena, &d, &t), WS_MACHINE);
    assert_non_null(strstr(d.text, "cannot compile for sm_35"));
}

/* The wgmma of two different accumulators without a wait between: ptxas says C7510 and serializes.
 * The log line itself is what the flag is made of, so a kernel that prints nothing must not set it.
 */
static void test_serialized_wgmma_is_noticed(void **state) {
    struct toolchain *t = open_nvrtc(*state, "sm_90a");
    static const char source[] =
        "extern \"C\" __global__ void f(float *out, unsigned long long da, unsigned long long db, "
        "int n) {\n"
        "    float a[4] = {0, 0, 0, 0};\n"
        "    for (int i = 0; i < n; i++) {\n"
        "        asm volatile(\"wgmma.fence.sync.aligned;\");\n"
        "        asm volatile(\"{ wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, "
        "%3}, %4, %5, 1, 1, 1, 0, 0; }\"\n"
        "            : \"+f\"(a[0]), \"+f\"(a[1]), \"+f\"(a[2]), \"+f\"(a[3]) : \"l\"(da), "
        "\"l\"(db));\n"
        "        a[i & 3] += 1;\n"
        "        asm volatile(\"wgmma.commit_group.sync.aligned;\");\n"
        "    }\n"
        "    asm volatile(\"wgmma.wait_group.sync.aligned 0;\");\n"
        "    out[threadIdx.x] = a[0] + a[1] + a[2] + a[3];\n"
        "}\n";
    struct compiled c;
    toolchain_compile(t, "wgmma.cu", source, false, &c);
    assert_true(c.ok);
    assert_non_null(strstr(c.log, "C75"));
    assert_true(c.serialized);
    compiled_free(&c);
    toolchain_compile(t, "quiet.cu", "// (C7510) in a comment is no message\n", false, &c);
    assert_false(c.serialized);
    compiled_free(&c);
}

struct job {
    struct toolchain *t;
    int id, good;
};

static void *compile_many(void *arg) {
    struct job *j = arg;
    for (int i = 0; i < 4; i++) {
        char source[256], want[32];
        struct compiled c;
        snprintf(want, sizeof want, "kernel_%d_%d", j->id, i);
        snprintf(source, sizeof source,
                 "extern \"C\" __global__ void %s(int *p) { p[threadIdx.x] = %d; }\n", want, i);
        toolchain_compile(j->t, "many.cu", source, true, &c);
        j->good += c.ok && c.ptx && strstr(c.ptx, want) != NULL;
        compiled_free(&c);
    }
    return NULL;
}

static void test_two_threads(void **state) {
    struct toolchain *t = open_nvrtc(*state, "sm_90a");
    struct job jobs[2] = {{t, 0, 0}, {t, 1, 0}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, compile_many, &jobs[i]), 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    assert_int_equal(jobs[0].good, 4);
    assert_int_equal(jobs[1].good, 4);
}

/* ---- C compiler -------------------------------------------------------------------------------
 */

static struct toolchain *open_cc(struct fixture *f) {
    struct toolchain *t = NULL;
    if (toolchain_open(DEVICE_CPU, NULL, &f->env, f->arena, &f->diag, &t) != WS_OK)
        fail_msg("%s", f->diag.text);
    return t;
}

static void test_cc_compiles(void **state) {
    struct toolchain *t = open_cc(*state);
    struct compiled c;
    toolchain_compile(t, "add.c", "void add(void *const *a) { **(float **)a[0] += 1; }\n", true,
                      &c);
    assert_true(c.ok);
    assert_true(is_elf(&c));
    assert_null(c.ptx);
    assert_string_equal(c.log, "");
    compiled_free(&c);
    assert_non_null(strstr(toolchain_version(t), "-O3 -march=native"));
}

/* ---- where it works, and what is left there ---------------------------------------------------
 */

static const char *make_tmp(struct fixture *f) {
    const char *tmp = getenv("TMPDIR");
    char *folder = arena_printf(f->arena, "%s/toolchain-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(folder));
    return f->env.tmp = folder;
}

static int count_files(const char *folder) {
    DIR *dir = opendir(folder);
    int n = 0;
    assert_non_null(dir);
    while (readdir(dir)) n++;
    closedir(dir);
    return n - 2;
}

/* The compiler's own temporary files are in the folder, too, and so is the compiler. */
static void test_cc_cleans_up(void **state) {
    struct fixture *f = *state;
    struct compiled c;
    const char *tmp = make_tmp(f);
    setenv("TMPDIR", "/nowhere", 1);
    f->env.cc = arena_printf(f->arena, "%s -v", f->env.cc);
    toolchain_compile(open_cc(f), "add.c", "int x;\n", false, &c);
    unsetenv("TMPDIR");
    if (!c.ok) fail_msg("%s", c.log);
    assert_null(strstr(c.log, "/nowhere"));
    assert_null(strstr(c.log, tmp));
    assert_int_equal(count_files(tmp), 0);
    compiled_free(&c);
    assert_int_equal(rmdir(tmp), 0);
}

/* The compiler gets the user's environment, but for two variables, of which names that are longer
 * are none. */
static void test_cc_environment(void **state) {
    struct fixture *f = *state;
    struct compiled c;
    const char *tmp = make_tmp(f), *script = arena_printf(f->arena, "%s/cc.sh", tmp);
    FILE *out = fopen(script, "w");
    assert_non_null(out);
    fprintf(out, "#!/bin/sh\nenv >&2\nexec %s \"$@\"\n", f->env.cc);
    assert_true(fclose(out) == 0 && chmod(script, 0700) == 0);
    setenv("TMPDIRECTORY", "kept", 1);
    setenv("LC_ALL_OF_IT", "kept", 1);
    setenv("LC_ALL", "xx_YY", 1);
    f->env.cc = script;
    toolchain_compile(open_cc(f), "add.c", "int x;\n", false, &c);
    if (!c.ok) fail_msg("%s", c.log);
    for (const char *const *w =
             (const char *const[]){"\nTMPDIRECTORY=kept\n", "\nLC_ALL_OF_IT=kept\n", "LC_ALL=C\n",
                                   "TMPDIR=.\n", NULL};
         *w; w++)
        if (!strstr(c.log, *w)) fail_msg("no %s in %s", *w, c.log);
    assert_null(strstr(c.log, "xx_YY"));
    unsetenv("TMPDIRECTORY"), unsetenv("LC_ALL_OF_IT"), unsetenv("LC_ALL");
    compiled_free(&c);
    assert_int_equal(remove(script), 0);
    assert_int_equal(rmdir(tmp), 0);
}

/* A folder with a file in it, this old. */
static const char *leave(struct fixture *f, const char *tmp, const char *name, int days) {
    const char *path = arena_printf(f->arena, "%s/%s", tmp, name);
    struct timespec then[2] = {{.tv_sec = time(NULL) - days * 86400}, {0}};
    then[1] = then[0];
    assert_int_equal(mkdir(path, 0700), 0);
    FILE *out = fopen(arena_printf(f->arena, "%s/in.c", path), "w");
    assert_true(out && fclose(out) == 0);
    assert_int_equal(utimensat(AT_FDCWD, path, then, 0), 0);
    return path;
}

static unsigned long long start_of(pid_t pid) {
    char path[64];
    unsigned long long start = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    assert_int_equal(fscanf(in,
                            "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d "
                            "%*d %*d %*d %*d %*d %llu",
                            &start),
                     1);
    fclose(in);
    return start;
}

static void test_what_the_dead_left_is_swept(void **state) {
    struct fixture *f = *state;
    const char *tmp = make_tmp(f);
    struct stat space;
    int status;
    assert_int_equal(stat("/proc/self/ns/pid", &space), 0);
    pid_t child = fork();
    if (child == 0) pause();
    unsigned long long ino = space.st_ino, start = start_of(child);
    const char *format = "warpsmith-%d-%llu-%llu-aB3dE6";
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    const char *gone[] = {
        leave(f, tmp, arena_printf(f->arena, format, (int)child, start, ino), 0),
        leave(f, tmp, arena_printf(f->arena, format, (int)getpid(), start - 1, ino), 0),
        leave(f, tmp, arena_printf(f->arena, format, (int)child, start, ino + 1), 2),
        leave(f, tmp, "warpsmith-aB3dE6", 2),
    };
    const char *kept[] = {
        leave(f, tmp, arena_printf(f->arena, format, (int)getpid(), start_of(getpid()), ino), 2),
        leave(f, tmp, arena_printf(f->arena, format, (int)child, start, ino + 2), 0),
        leave(f, tmp, "warpsmith-aB3dE7", 0),
        leave(f, tmp, "warpsmith-tests.aB3dE6", 2),
        leave(f, tmp, "warpsmith-store-0", 2),
        leave(f, tmp, "other", 2),
    };
    const char *link = arena_printf(f->arena, "%s/warpsmith-aB3dE8", tmp);
    assert_int_equal(symlink(kept[5], link), 0);
    open_cc(f);
    for (unsigned i = 0; i < sizeof gone / sizeof *gone; i++)
        if (access(gone[i], F_OK) == 0) fail_msg("%s is still there", gone[i]);
    for (unsigned i = 0; i < sizeof kept / sizeof *kept; i++)
        if (access(arena_printf(f->arena, "%s/in.c", kept[i]), F_OK) != 0)
            fail_msg("%s was removed", kept[i]);
    assert_int_equal(system(arena_printf(f->arena, "rm -r '%s'", tmp)), 0);
}

/* What it makes is valid for its command, and for what that finds in this machine. */
static void test_cc_key(void **state) {
    struct fixture *f = *state;
    const char *plain = toolchain_key(open_cc(f), f->arena), *cc = f->env.cc;
    assert_string_equal(toolchain_key(open_cc(f), f->arena), plain);
    f->env.cc = arena_printf(f->arena, "%s -v", cc); /* which talks more */
    const char *talks = toolchain_key(open_cc(f), f->arena);
    assert_string_equal(toolchain_key(open_cc(f), f->arena), talks);
    assert_string_not_equal(talks, plain);
    f->env.cc = arena_printf(f->arena, "%s -fwrapv", cc);
    assert_string_not_equal(toolchain_key(open_cc(f), f->arena), plain);
    const char *version = toolchain_version(open_cc(f));
    assert_int_equal(strncmp(plain, version, strlen(version)), 0);
    /* Another CPU behind the same name and command: what the compiler defines differs. */
    const char *tmp = make_tmp(f), *path = arena_printf(f->arena, "%s/cc", tmp), *keys[2];
    for (int i = 0; i < 2; i++) {
        FILE *out = fopen(path, "w");
        assert_non_null(out);
        fprintf(out,
                "#!/bin/sh\n[ \"$1\" != --version ] || { echo one; exit; }\n"
                "echo '#define __AVX%d__ 1'\n",
                i);
        assert_int_equal(fchmod(fileno(out), 0700), 0);
        assert_int_equal(fclose(out), 0);
        f->env.cc = path;
        keys[i] = toolchain_key(open_cc(f), f->arena);
    }
    assert_string_not_equal(keys[0], keys[1]);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(tmp), 0);
}

/* ---- compilers that are ended from outside ----------------------------------------------------
 */

/* A compiler that knows its version, and then does this. */
static bool is_killed_by(struct fixture *f, const char *what) {
    const char *path = arena_printf(f->arena, "%s/cc", make_tmp(f));
    struct toolchain *t = NULL;
    struct compiled c;
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fprintf(out, "#!/bin/sh\n[ \"$1\" != --version ] || { echo one; exit; }\n%s\n", what);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(chmod(path, 0700), 0);
    f->env.cc = path;
    t = open_cc(f);
    toolchain_compile(t, "add.c", "int x;\n", false, &c);
    assert_false(c.ok);
    bool killed = c.killed;
    compiled_free(&c);
    assert_int_equal(system(arena_printf(f->arena, "rm -r '%s'", f->env.tmp)), 0);
    return killed;
}

static void test_cc_that_is_killed(void **state) {
    struct fixture *f = *state;
    assert_true(is_killed_by(f, "kill -KILL $$"));
    assert_true(is_killed_by(f, "kill -TERM $$"));
    assert_true(is_killed_by(f, "echo 'gcc: fatal error: Killed signal terminated program cc1'\n"
                                "exit 1"));
    assert_true(is_killed_by(f, "echo 'collect2: fatal error: ld terminated with signal 9 [Killed]'"
                                "\nexit 1"));
    assert_false(is_killed_by(f, "kill -SEGV $$"));
    assert_false(is_killed_by(f, "echo 'gcc: internal compiler error: Segmentation fault signal "
                                 "terminated program cc1'\nexit 4"));
    assert_false(is_killed_by(f, "exit 1"));
}

static void test_cc_error_names_the_kernel(void **state) {
    struct toolchain *t = open_cc(*state);
    struct compiled c;
    toolchain_compile(t, "relu_k3.c", "int ok;\nvoid f(void) { oops; }\n", false, &c);
    assert_false(c.ok);
    assert_null(c.binary);
    assert_non_null(strstr(c.log, "relu_k3.c:2:"));
    assert_non_null(strstr(c.log, "oops"));
    compiled_free(&c);
}

static void test_cc_missing(void **state) {
    struct fixture *f = *state;
    struct toolchain *t;
    struct env env = f->env;
    env.cc = "no-such-compiler-here";
    assert_int_equal(toolchain_open(DEVICE_CPU, NULL, &env, f->arena, &f->diag, &t), WS_MACHINE);
    assert_null(t);
    assert_non_null(strstr(f->diag.text, "no-such-compiler-here"));
    env.cc = "false";
    struct diag d = diag_new(f->arena);
    assert_int_equal(toolchain_open(DEVICE_CPU, NULL, &env, f->arena, &d, &t), WS_MACHINE);
    env.cc = "  ";
    d = diag_new(f->arena);
    assert_int_equal(toolchain_open(DEVICE_CPU, NULL, &env, f->arena, &d, &t), WS_USAGE);
}

static void test_cc_of_several_words(void **state) {
    struct fixture *f = *state;
    struct toolchain *t = NULL;
    struct compiled c;
    f->env.cc = arena_printf(f->arena, "%s -DANSWER=42", f->env.cc);
    assert_int_equal(toolchain_open(DEVICE_CPU, NULL, &f->env, f->arena, &f->diag, &t), WS_OK);
    toolchain_compile(t, "words.c", "_Static_assert(ANSWER == 42, \"\");\nint x;\n", false, &c);
    assert_true(c.ok);
    compiled_free(&c);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_every_arch_gives_cubin_and_ptx),
        TEST(test_helper_kernels_compile),
        TEST(test_version_has_three_numbers),
        TEST(test_syntax_error_is_in_the_log),
        TEST(test_bad_arch),
        TEST(test_serialized_wgmma_is_noticed),
        TEST(test_two_threads),
        TEST(test_cc_compiles),
        TEST(test_cc_key),
        TEST(test_cc_cleans_up),
        TEST(test_cc_environment),
        TEST(test_what_the_dead_left_is_swept),
        TEST(test_cc_that_is_killed),
        TEST(test_cc_error_names_the_kernel),
        TEST(test_cc_missing),
        TEST(test_cc_of_several_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

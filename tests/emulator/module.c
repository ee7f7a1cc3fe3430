/* module.c: compile a text, load it, and find the line of an address in it.
 *
 * The text is written down as it is; a second file includes it and lists its kernels:
 *
 *     kernels.cu     the text
 *     module.cpp     #include "emulator.h"
 *                    #include "kernels.cu"
 *                    EMU_SHARED(k_smem)                for each `extern __shared__ T k_smem[];`
 *                    EMU_MODULE(EMU_ENTRY(softmax))    for each kernel */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "tests/emulator/internal.h"

#ifndef EMU_DIR
#error "EMU_DIR: where emulator.h is, see rules.mk"
#endif

/* ---- files and processes -------------------------------------------------------------------- */

static bool write_file(const char *path, const char *text, size_t n) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return false;
    while (n > 0) {
        ssize_t done = write(fd, text, n);
        if (done <= 0) break;
        text += done;
        n -= (size_t)done;
    }
    return close(fd) == 0 && n == 0;
}

/* Run a command with its output in a file. Its exit status, or -1 if it could not be started. */
static int run(char *const *command, const char *output) {
    extern char **environ;
    posix_spawn_file_actions_t files;
    pid_t pid;
    int status = 0;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    int failed = posix_spawnp(&pid, command[0], &files, NULL, command, environ);
    posix_spawn_file_actions_destroy(&files);
    if (failed) return -1;
    while (waitpid(pid, &status, 0) < 0) {}
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void remove_folder(struct arena *a, const char *folder) {
    static const char *const FILES[] = {"kernels.cu", "module.cpp", "module.so", "log", "lines"};
    for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++)
        unlink(arena_printf(a, "%s/%s", folder, FILES[i]));
    rmdir(folder);
}

/* ---- module.cpp ----------------------------------------------------------------------------- */

static bool is_name(char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The name in "extern __shared__ __align__(16) unsigned char name[];", which starts at p. */
static const char *shared_name(struct arena *a, const char *p) {
    const char *end = strpbrk(p, "[;");
    if (!end || *end != '[') return NULL;
    while (end > p && end[-1] == ' ') end--;
    const char *begin = end;
    while (begin > p && is_name(begin[-1])) begin--;
    return begin == end ? NULL : arena_strndup(a, begin, (size_t)(end - begin));
}

static void put_shared(struct buf *b, const char *text) {
    static const char DECLARATION[] = "extern __shared__";
    struct map seen = map_new(b->arena);
    for (const char *p = text; (p = strstr(p, DECLARATION)); p += sizeof DECLARATION - 1) {
        const char *name = shared_name(b->arena, p);
        if (name && map_puts(&seen, name, 1)) buf_printf(b, "EMU_SHARED(%s)\n", name);
    }
}

static const char *module_text(struct arena *a, const char *text, const char *const *kernels,
                               int n) {
    struct buf b = buf_new(a);
    buf_puts(&b, "#include \"emulator.h\"\n"
                 "#include \"kernels.cu\"\n");
    put_shared(&b, text);
    buf_puts(&b, "EMU_MODULE(");
    for (int i = 0; i < n; i++)
        buf_printf(&b, "EMU_ENTRY(%s)%s", kernels[i], i + 1 < n ? ",\n           " : "");
    buf_puts(&b, ")\n");
    return b.p;
}

/* ---- compile -------------------------------------------------------------------------------- */

/* Most kernels run once, so that the compiler's time counts, and it does not optimise. What is not
 * inlined is then called, and gcc has no hook for what it stores of a call's result: the prelude's
 * functions are always inlined, but for those that have no result. Lines stay where they are. */
static const char *with_calls(struct arena *a, const char *text) {
    static const char INLINED[] = "K_DEVICE void ";
    struct buf b = buf_new(a);
    for (const char *next; (next = strstr(text, INLINED)); text = next + strlen(INLINED))
        buf_printf(&b, "%.*sEMU_CALLED void ", (int)(next - text), text);
    buf_puts(&b, text);
    return b.p;
}

static enum ws_status compile(struct arena *a, const char *folder, const char *text,
                              const char *const *kernels, int n, struct diag *d) {
    const char *module = module_text(a, text, kernels, n);
    char *input = arena_printf(a, "%s/module.cpp", folder);
    char *output = arena_printf(a, "%s/module.so", folder);
    char *log = arena_printf(a, "%s/log", folder);
    text = with_calls(a, text);
    if (!write_file(arena_printf(a, "%s/kernels.cu", folder), text, strlen(text)) ||
        !write_file(input, module, strlen(module)))
        return diag_fail(d, WS_MACHINE, "cannot write to %s", folder);
    /* The linker's own options for -fsanitize=thread, its library above all, go with -nostdlib. */
    char *command[] = {"g++",
                       "-std=c++17",
                       "-O0",
                       "-g1",
                       "-w",
                       "-fPIC",
                       "-shared",
                       "-fvisibility=hidden",
                       "-fno-exceptions",
                       "-fno-rtti",
                       "-fno-gnu-unique",
                       "-fno-extern-tls-init",
                       "-fno-omit-frame-pointer",
                       "-fno-optimize-sibling-calls",
                       "-fno-strict-aliasing",
                       "-ffp-contract=off",
                       "-fstack-clash-protection", /* see overflow.c */
                       "-fsanitize=thread",
                       "--param=tsan-instrument-func-entry-exit=0",
                       "-nostdlib",
                       "-DWS_EMULATOR",
                       "-I" EMU_DIR,
                       input,
                       "-o",
                       output,
                       "-lm",
                       NULL};
    int status = run(command, log);
    if (status == 0) return WS_OK;
    if (status < 0 || status == 127)
        return diag_fail(d, WS_MACHINE, "cannot run g++, which the emulator compiles with");
    struct diag unread = diag_new(a);
    const struct source *words = source_read(a, log, &unread);
    return diag_fail(d, WS_WRONG, "the kernels do not compile:\n%s", words ? words->text : "");
}

/* ---- load ----------------------------------------------------------------------------------- */

struct image {
    const void *inside; /* an address in it */
    uintptr_t begin, end;
    unsigned char *tls; /* the calling thread's thread-local segment */
    size_t tls_bytes;
};

static int visit_image(struct dl_phdr_info *info, size_t size, void *data) {
    struct image *image = data;
    uintptr_t begin = UINTPTR_MAX, end = 0, inside = (uintptr_t)image->inside;
    size_t tls_bytes = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t at = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD && at < begin) begin = at;
        if (p->p_type == PT_LOAD && at + p->p_memsz > end) end = at + p->p_memsz;
        if (p->p_type == PT_TLS) tls_bytes = p->p_memsz;
    }
    if (inside < begin || inside >= end) return 0;
    image->begin = begin;
    image->end = end;
    image->tls = info->dlpi_tls_data;
    image->tls_bytes = tls_bytes;
    return 1;
}

/* Find the calling host thread's copy of the shared memory. */
bool module_locate_shared(struct emu_module *m) {
    struct image image = {.inside = m->table};
    m->dynamic = m->table->shared(); /* makes the segment, if this thread has none yet */
    if (!dl_iterate_phdr(visit_image, &image) || !image.tls) return false;
    m->image = (const unsigned char *)image.begin;
    m->image_end = (const unsigned char *)image.end;
    m->shared = image.tls;
    m->shared_bytes = image.tls_bytes;
    return true;
}

static struct emu_module *load(struct emu *e, struct arena *a, char *folder, struct diag *d) {
    void *library = dlopen(arena_printf(a, "%s/module.so", folder), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        diag_fail(d, WS_MACHINE, "cannot load the compiled kernels: %s", dlerror());
        return NULL;
    }
    void (*connect)(const struct emu_host *) =
        (void (*)(const struct emu_host *))(uintptr_t)dlsym(library, "emu_connect");
    struct emu_module *m = calloc(1, sizeof *m);
    WS_ASSERT(m && connect);
    connect(&e->host);
    *m = (struct emu_module){.emu = e,
                             .library = library,
                             .folder = folder,
                             .table = dlsym(library, "emu_module"),
                             .next = e->modules};
    e->modules = m;
    return m;
}

struct emu_module *emu_open(struct emu *e, const char *text, const char *const *kernels, int n,
                            struct diag *d) {
    struct arena *a = arena_new();
    const char *tmp = getenv("TMPDIR");
    char *folder = strdup(arena_printf(a, "%s/emulator.XXXXXX", tmp ? tmp : "/tmp"));
    WS_ASSERT(folder);
    struct emu_module *m = NULL;
    if (!mkdtemp(folder))
        diag_fail(d, WS_MACHINE, "cannot make the folder %s", folder);
    else if (compile(a, folder, text, kernels, n, d) == WS_OK)
        m = load(e, a, folder, d);
    if (!m) {
        remove_folder(a, folder);
        free(folder);
    }
    arena_free(a);
    return m;
}

void emu_close(struct emu_module *m) {
    if (!m) return;
    struct emu_module **link = &m->emu->modules;
    while (*link != m) link = &(*link)->next;
    *link = m->next;
    struct arena *a = arena_new();
    remove_folder(a, m->folder);
    arena_free(a);
    dlclose(m->library);
    free(m->folder);
    free(m);
}

/* ---- lines ---------------------------------------------------------------------------------- */

/* The addresses of the calls that led to a hook, innermost first, as arguments of addr2line. Frames
 * are linked: each begins with the caller's frame and the return address. */
static int return_addresses(const struct emu_module *m, struct arena *a, const void *frame,
                            char **out, int max) {
    int n = 0;
    for (const uintptr_t *f = frame; f && n < max; f = (const uintptr_t *)f[0]) {
        const unsigned char *pc = (const unsigned char *)f[1];
        if (pc < m->image || pc >= m->image_end) break;
        out[n++] = arena_printf(a, "0x%tx", pc - 1 - m->image);
    }
    return n;
}

/* The line of the kernel (not of the helpers that it calls) in which a hook was called: the
 * outermost line of the text. 0 if unknown. */
int module_line(const struct emu_module *m, const void *frame) {
    struct arena *a = arena_new();
    char *command[24] = {"addr2line", "-i", "-e", arena_printf(a, "%s/module.so", m->folder)};
    char *output = arena_printf(a, "%s/lines", m->folder);
    int n = return_addresses(m, a, frame, command + 4, 16), line = 0;
    if (n > 0 && run(command, output) == 0) {
        struct diag unread = diag_new(a);
        const struct source *lines = source_read(a, output, &unread);
        for (const char *p = lines ? lines->text : ""; (p = strstr(p, "/kernels.cu:")); p++)
            line = atoi(p + strlen("/kernels.cu:"));
    }
    arena_free(a);
    return line;
}

/* Keep the calls that led to a hook, for module_line after the hook's caller is gone. */
void module_trail(const struct emu_module *m, const void *frame, struct trail *t) {
    enum { MAX = sizeof t->frame / sizeof *t->frame };
    int n = 0;
    for (const uintptr_t *f = frame; n < MAX; f = (const uintptr_t *)f[0], n++) {
        const unsigned char *pc = (const unsigned char *)f[1];
        if (pc < m->image || pc >= m->image_end) break;
        t->frame[n][0] = n + 1 < MAX ? t->frame[n + 1] : NULL;
        t->frame[n][1] = pc;
    }
    if (n < MAX) t->frame[n][1] = NULL;
}

/* safely.c: check graphs in a process of its own, so that a crash of the compiler is a finding like
 * any other. The child's verdict and counts are in memory that both share, its last words in a
 * file. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fuzz/check.h"

enum { SECONDS_EACH = 60 };

struct shared {
    int failed;
    struct fuzz_verdict v;
    struct fuzz_counts counts;
};

static void last_words(FILE *f, struct fuzz_verdict *v, int status) {
    rewind(f);
    size_t n = fread(v->text, 1, sizeof v->text - 1, f);
    v->text[n] = 0;
    if (!n) snprintf(v->text, sizeof v->text, "%s", strsignal(WTERMSIG(status)));
}

static int check_in_child(const struct fuzz_case *cases, int n, const struct fuzz_cpu *cpu,
                          struct fuzz_verdict *v, struct fuzz_counts *counts) {
    struct shared *s =
        mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    FILE *words = tmpfile();
    if (s == MAP_FAILED || !words) WS_BUG("no memory or no file to share with a child");
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0) WS_BUG("fork failed");
    if (pid == 0) {
        static const int crashes[] = {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL};
        for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
            signal(crashes[i], SIG_DFL); /* a test's own handler would go on testing */
        dup2(fileno(words), STDERR_FILENO);
        /* of its own work; on a loaded machine that may take ten times as long */
        struct itimerval limit = {.it_value.tv_sec = SECONDS_EACH + 10 * n};
        setitimer(ITIMER_PROF, &limit, NULL);
        alarm((unsigned)(10 * limit.it_value.tv_sec));
        s->failed = fuzz_check(cases, n, cpu, &s->v, &s->counts);
        _exit(0);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    int failed = s->failed;
    *v = s->v;
    fuzz_counts_add(counts, &s->counts);
    if (!WIFEXITED(status) || WEXITSTATUS(status)) {
        bool late =
            WIFSIGNALED(status) && (WTERMSIG(status) == SIGALRM || WTERMSIG(status) == SIGPROF);
        v->finding = late ? FOUND_TIMEOUT : FOUND_CRASH;
        last_words(words, v, status);
        failed = n == 1 ? 0 : n;
    }
    fclose(words);
    munmap(s, sizeof *s);
    return failed;
}

int fuzz_check_safely(const struct fuzz_case *cases, int n, const struct fuzz_cpu *cpu,
                      struct fuzz_verdict *v, struct fuzz_counts *counts) {
    struct fuzz_counts again = {0};
    int failed = check_in_child(cases, n, cpu, v, counts);
    for (int i = 0; i < n && failed == n; i++) {
        struct fuzz_verdict alone = {0};
        if (check_in_child(&cases[i], 1, cpu, &alone, &again) != 0) continue;
        *v = alone;
        return i;
    }
    return failed;
}

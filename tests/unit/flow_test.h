/* flow_test.h: bench from end to end on the CPU with a made-up compiler, in a folder of its own.
 * Included once, by the test. */
#ifndef FLOW_TEST_H
#define FLOW_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <unistd.h>

#include "reports/results.h"
#include "tests/unit/fake_compiler.h"
#include "tuner/commands.h"

struct place {
    char folder[512], file[600], csv[600], store[600];
};

static int set_up(void **state) {
    struct place *p = calloc(1, sizeof *p);
    const char *tmp = getenv("TMPDIR");
    if (!p) return -1;
    snprintf(p->folder, sizeof p->folder, "%.400s/tuner-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(p->folder)) return -1;
    snprintf(p->file, sizeof p->file, "%s/fake.py", p->folder);
    snprintf(p->csv, sizeof p->csv, "%s/fake.csv", p->folder);
    snprintf(p->store, sizeof p->store, "%s/store.db", p->folder);
    setenv("WARPSMITH_CACHE", p->store, 1);
    fake_plant.folder = p->folder;
    FILE *f = fopen(p->file, "w");
    *state = p;
    if (!f) return -1;
    fputs("get_inputs = None\n", f); /* a workload, not a script */
    return fclose(f);
}

static int tear_down(void **state) {
    struct place *p = *state;
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s'", p->folder);
    int status = system(command);
    free(p);
    return status;
}

/* `bench FILE --device cpu --results FOLDER --no-figures ...`: its exit code. */
static int bench(struct place *p, const char *option, const char *value) {
    char *argv[] = {"warpsmith", "bench",      p->file,        "--device",
                    "cpu",       "--results",  p->folder,      "--no-figures",
                    "--search",  "exhaustive", (char *)option, (char *)value,
                    NULL};
    int argc = 10;
    while (argv[argc]) argc++;
    return command_line_run(argc, argv);
}

static const struct result_row *find(const struct results *r, const char *config,
                                     enum result_role role) {
    const struct result_row *found = NULL;
    for (size_t i = 0; i < r->n; i++)
        if (!strcmp(r->rows[i].config, config) && r->rows[i].role == role) found = &r->rows[i];
    if (!found) fail_msg("no row of '%s' with role %s", config, result_role_name(role));
    return found;
}

static size_t count(const struct results *r, enum result_role role) {
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++) n += r->rows[i].role == role;
    return n;
}

static void read_rows(struct place *p, struct results *r) {
    struct report_error e = {0};
    assert_int_equal(results_read(p->csv, r, &e), REPORT_OK);
    assert_string_equal(text_str(&r->table.warnings), "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif

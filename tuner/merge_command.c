/* merge_command.c: `warpsmith merge`: result files by reports/merge.h, stores by store_import.
 *
 * Results come first: a conflict there leaves the store as it was, too. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reports/reports.h"
#include "tuner/commands.h"
#include "tuner/folder.h"
#include "tuner/merge.h"
#include "tuner/store.h"
#include "ws_tune.h"

static bool is_store(const char *path) {
    size_t n = strlen(path);
    return n > 3 && !strcmp(path + n - 3, ".db");
}

static bool is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void add(struct arena *a, struct texts *t, const char *text) {
    const char **at = NEW_ARRAY(a, const char *, t->n + 1);
    if (t->n) memcpy(at, t->at, sizeof *at * (size_t)t->n);
    at[t->n++] = text;
    t->at = at;
}

static enum ws_status merge_stores(const struct texts *stores, struct arena *a, struct diag *d) {
    struct store *s;
    const char *note = "";
    if (!stores->n) return WS_OK;
    enum ws_status status = store_open(env_read(a).store_path, a, d, &s, &note);
    fputs(note, stderr);
    for (int i = 0; i < stores->n && status == WS_OK; i++) {
        int n, n_other;
        status = store_merge(s, stores->at[i], &n, &n_other, d);
        if (status != WS_OK) break;
        printf("%d tuned kernel%s new or newer in %s\n", n, n == 1 ? "" : "s", stores->at[i]);
        if (n_other)
            fprintf(stderr, "%s: %d kernel%s another winner than the store; the newer ones stay\n",
                    stores->at[i], n_other, n_other == 1 ? " has" : "s have");
    }
    store_close(s);
    return status;
}

enum ws_status merge_folders(const struct texts *csv, const char *folder, bool apart,
                             struct diag *d) {
    struct merge_request r = {csv->at, (size_t)csv->n, folder, apart};
    struct merged done;
    struct text notes = {0};
    struct report_error e = {0};
    if (folder_make(d->arena, folder, d) != WS_OK) return d->status;
    merge_results(&r, &done, &notes, &e);
    fputs(text_str(&notes), stderr);
    text_free(&notes);
    if (e.status != REPORT_OK) return diag_fail(d, (enum ws_status)e.status, "%s", e.text);
    printf("%zu row%s new in %s, %zu there already\n", done.n_new, done.n_new == 1 ? "" : "s",
           folder, done.n_old);
    return WS_OK;
}

int merge_command(const struct command_line *line) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct texts csv = {0}, stores = {0};
    for (int i = 0; i < line->operands.n; i++) {
        const char *shard = line->operands.at[i];
        add(a, is_store(shard) && !is_folder(shard) ? &stores : &csv, shard);
        struct texts inside = folder_list(a, shard, ".db");
        for (int j = 0; j < inside.n; j++)
            add(a, &stores, arena_printf(a, "%s/%s", shard, inside.at[j]));
    }
    for (int i = 0; i < stores.n && d.status == WS_OK; i++)
        if (access(stores.at[i], R_OK) != 0)
            diag_fail(&d, WS_USAGE, "cannot read '%s': %s", stores.at[i], strerror(errno));
    if (d.status == WS_OK && csv.n) merge_folders(&csv, line->results, false, &d);
    if (d.status == WS_OK) merge_stores(&stores, a, &d);
    if (d.status != WS_OK) command_line_fail("merge", &d);
    int status = d.status;
    arena_free(a);
    return status;
}

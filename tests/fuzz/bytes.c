/* bytes.c: what the targets share. */
#include "tests/fuzz/bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void bytes_abort(const char *file, int line, const char *fmt, ...) {
    va_list ap;
    fprintf(stderr, "%s:%d: ", file, line);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    abort();
}

static char folder[64];

static void remove_folder(void) {
    char command[96];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command)) fprintf(stderr, "%s: cannot be removed\n", folder);
}

static const char *make_folder(void) {
    if (*folder) return folder;
    snprintf(folder, sizeof folder, "%s/warpsmith-bytes-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    BYTES_CHECK(mkdtemp(folder), "%s cannot be made", folder);
    atexit(remove_folder);
    return folder;
}

const char *bytes_file(const char *name, const void *data, size_t n) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", make_folder(), name);
    FILE *f = fopen(path, "wb");
    BYTES_CHECK(f && fwrite(data, 1, n, f) == n && fclose(f) == 0, "%s cannot be written", path);
    return path;
}

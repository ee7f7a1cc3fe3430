/* main.c: the `warpsmith` command. What can be typed is in commands.def. */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "tuner/command_line.h"
#include "ws_tune.h"

int main(int argc, char **argv) {
    /* Bytes from which on what is freed (tokens, pruned graphs) goes back to the system at once:
     * malloc's own threshold rises with every such piece. */
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
    signal(SIGXFSZ,
           SIG_IGN); /* so is a file that grows past ulimit -f, in workers and compilers, too */
    worker_main(argc - 1, argv + 1);
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error like a full disk, not a silent death */
    int status = command_line_run(argc, argv);
    bool failed = ferror(stdout); /* earlier, so that errno is another's by now */
    if ((fflush(stdout) != 0 || failed) && status == WS_OK) {
        if (failed)
            fputs("warpsmith: the output could not be written: a full disk or a closed pipe\n",
                  stderr);
        else
            perror("warpsmith: cannot write the output");
        status = WS_MACHINE;
    }
    exit(status);
}

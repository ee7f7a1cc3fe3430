/* error.h: what a report function says when it cannot go on.
 *
 * Library code never prints: it fills a struct report_error and returns its status; the *_main
 * functions print it. The first error wins, later ones are its consequences. The statuses are the
 * exit codes of the command. */
#ifndef REPORTS_ERROR_H
#define REPORTS_ERROR_H

enum report_status {
    REPORT_OK = 0,
    REPORT_WRONG = 1,   /* a file is unreadable, damaged or foreign, or a workload broke */
    REPORT_USAGE = 2,   /* the call is wrong: a file that it names is not there */
    REPORT_MACHINE = 3, /* the machine cannot do it: disk full, no gnuplot */
    REPORT_SLOWER = 4,
    REPORT_NOISY = 5,
};

struct report_error {
    enum report_status status; /* REPORT_OK until the first error */
    char text[1024];           /* one line without its newline */
};

enum report_status report_fail(struct report_error *e, enum report_status s, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif

/* memory.h: how much memory this process may still take. */
#ifndef WS_BASE_MEMORY_H
#define WS_BASE_MEMORY_H

#include <stddef.h>

/* Bytes until the system, a container's limit or the process's own (ulimit -v) says no; SIZE_MAX if
 * nobody says. Linux: MemAvailable of /proc/meminfo, the control groups that the process is in
 * (versions 1 and 2) with those around them, RLIMIT_AS, and RLIMIT_RSS (ulimit -m), which Linux
 * itself passes over. What a group holds of files counts as free, as it is given back. */
size_t memory_available(void);

/* The same with another root than "/", for tests, and without the process's own limit. */
size_t memory_available_in(const char *root);

#endif

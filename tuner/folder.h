/* folder.h: folders on the file system. */
#ifndef TUNER_FOLDER_H
#define TUNER_FOLDER_H

#include "tuner/command_line.h"

/* Names in a folder that end in `suffix`, sorted; none if it cannot be read. */
struct texts folder_list(struct arena *a, const char *path, const char *suffix);

/* Make the folder and those above it, and see that files can be made in it. WS_MACHINE. */
enum ws_status folder_make(struct arena *a, const char *path, struct diag *d);

/* Free space where the path lies, in bytes; -1 if unknown. */
int64_t folder_free_bytes(const char *path);

/* Write a whole file. WS_MACHINE. */
enum ws_status file_write(const char *path, const void *bytes, size_t n, struct diag *d);

#endif

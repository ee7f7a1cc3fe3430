/* drive_impl.h: what the two halves of drive.h share, and their callers do not need. */
#ifndef FUZZ_DRIVE_IMPL_H
#define FUZZ_DRIVE_IMPL_H

#include "tests/fuzz/drive.h"

/* Fills d with WS_WRONG; returns false. */
bool drive_fail(struct diag *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Storage of input k, in its type and strides. */
void drive_fill(const struct drive *b, int k, void *to);

/* Output x, as it lies in memory, judged. */
bool drive_judge_memory(struct drive *b, const struct ws_buffer *x, const void *memory,
                        struct diag *d);

/* Every kernel in its order, those of a loop step after step; false as soon as run says so. */
typedef bool drive_run(void *ctx, int kernel, int64_t step);
bool drive_kernels(const struct drive *b, drive_run *run, void *ctx);

/* The buffer that holds `buffer` in that step, from byte `from` on: windows lie in others. */
int drive_place(const struct drive *b, int buffer, int64_t step, size_t *from);
bool drive_is_window(const struct drive *b, int buffer);

/* Number the distinct texts, and append the first variant that has each. */
typedef VEC(const struct variant *) text_vec;
void drive_number_texts(struct arena *a, variant_vec *all, text_vec *out);

/* Texts from..to-1 as one: one prelude, then each under names of its own. */
const char *drive_join(struct arena *a, const text_vec *texts, uint32_t from, uint32_t to);

/* What an entry of this variant is called in the joined text. */
const char *drive_entry(struct arena *a, const char *entry, const struct variant *v);

#endif

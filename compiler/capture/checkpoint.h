/* checkpoint.h: torch.save() and torch.load() of state dicts, in PyTorch's own format. Private to
 * capture.
 *
 * A file is a zip archive, nothing of it compressed:
 *
 *   NAME/data.pkl     the value as a pickle of protocol 2; a tensor is a view of a storage: its
 *                     key, offset, sizes, strides
 *   NAME/byteorder    "little"
 *   NAME/data/0       the bytes of storage "0", one record each
 *   NAME/version      "3"
 *
 * checkpoint_zip.c knows records, checkpoint_read.c and checkpoint_write.c the pickle. Nothing that
 * a file says is believed: what it may name is listed in CHECKPOINT_GLOBALS, places lie in the file
 * and views in their storages, and work and memory are the program's. */
#ifndef WS_CAPTURE_CHECKPOINT_H
#define WS_CAPTURE_CHECKPOINT_H

#include "capture/vm.h"

/* STORAGE(dtype, the class that PyTorch has for storages of it) */
#define CHECKPOINT_STORAGES(STORAGE)                                                               \
    STORAGE(BOOL, "BoolStorage")                                                                   \
    STORAGE(U8, "ByteStorage")                                                                     \
    STORAGE(I8, "CharStorage")                                                                     \
    STORAGE(I16, "ShortStorage")                                                                   \
    STORAGE(I32, "IntStorage")                                                                     \
    STORAGE(I64, "LongStorage")                                                                    \
    STORAGE(F16, "HalfStorage")                                                                    \
    STORAGE(BF16, "BFloat16Storage")                                                               \
    STORAGE(F32, "FloatStorage")                                                                   \
    STORAGE(F64, "DoubleStorage")

/* All else that a pickle may name. dtypes and the storages above come to it. */
#define CHECKPOINT_GLOBALS(GLOBAL)                                                                 \
    GLOBAL(TENSOR, "torch._utils", "_rebuild_tensor_v2")                                           \
    GLOBAL(TENSOR_OF_TYPE, "torch._utils", "_rebuild_tensor_v3")                                   \
    GLOBAL(PARAMETER, "torch._utils", "_rebuild_parameter")                                        \
    GLOBAL(UNTYPED, "torch.storage", "UntypedStorage")                                             \
    GLOBAL(ORDERED_DICT, "collections", "OrderedDict")                                             \
    GLOBAL(SIZE, "torch", "Size")                                                                  \
    GLOBAL(DEVICE, "torch", "device")

/* -- checkpoint_zip.c */
struct record {
    const char *name; /* "data/0": without the archive's own name */
    uint64_t header;  /* where its local header lies */
    uint64_t bytes;
};
struct archive {
    const char *path;
    uint64_t bytes; /* of the file */
    VEC(struct record) records;
    struct map by_name;
};
/* The directory of a file. Raises RuntimeError of what is no such archive, FileNotFoundError. */
struct archive *archive_open(struct vm *vm, const char *path);
const struct record *archive_find(const struct archive *a, const char *name); /* or NULL */
/* Its bytes, to where there is room for them. */
void archive_read(struct vm *vm, const struct archive *a, const struct record *r, void *to);

struct archive_writer;
/* OSError if the file cannot be written. */
struct archive_writer *archive_create(struct vm *vm, const char *path);
void archive_put(struct archive_writer *w, const char *name, const void *bytes, uint64_t n);
void archive_close(struct vm *vm, struct archive_writer *w);

#endif

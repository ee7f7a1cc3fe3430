/* stdlib.h: see math.h. */
#ifndef QUICK_STDLIB_H
#define QUICK_STDLIB_H

#include <stddef.h>

void *malloc(size_t n);
void *calloc(size_t n, size_t size);
void *aligned_alloc(size_t alignment, size_t n);
void free(void *p);
int abs(int x);
long labs(long x);
long long llabs(long long x);
void abort(void);

#endif

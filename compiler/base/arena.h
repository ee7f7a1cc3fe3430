/* arena.h: memory with two lifetimes and no frees.
 *
 * A compile owns two arenas: the program's (lives as long as the ws_program) and a scratch one
 * (freed when the stage list has run). Passes allocate and never free. Out of memory ends the
 * process with one message: a compiler that cannot allocate a few megabytes has nothing useful left
 * to do.
 *
 * Ownership: whoever calls arena_new calls arena_free; everything handed out dies with its arena.
 */
#ifndef WS_BASE_ARENA_H
#define WS_BASE_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct budget;

struct arena *arena_new(void);
/* One that is freed with `owner` at the latest, for whoever may be left by longjmp meanwhile. */
struct arena *arena_within(struct arena *owner);
void arena_free(struct arena *a); /* a may be NULL */

/* From now on what is handed out is charged to b (base/budget.h), before it is allocated; NULL: to
 * nobody, as at first. */
void arena_charge(struct arena *a, struct budget *b);

/* n zeroed bytes, aligned to 16. n may be 0 (a valid, distinct pointer comes back). */
void *arena_alloc(struct arena *a, size_t n);
void *arena_array(struct arena *a, size_t size, size_t n); /* n of so many bytes */

char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t n); /* always 0-terminated */
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *a, const char *fmt, va_list ap);

/* Was p handed out by a? */
bool arena_owns(const struct arena *a, const void *p);

/* Bytes handed out so far, for memory reports. */
size_t arena_used(const struct arena *a);

#define NEW(a, T) ((T *)arena_alloc((a), sizeof(T)))
#define NEW_ARRAY(a, T, n) ((T *)arena_array((a), sizeof(T), (size_t)(n)))

#endif

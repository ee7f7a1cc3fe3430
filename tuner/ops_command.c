/* ops_command.c: `warpsmith ops [NAME]`: the operators that are known, and what becomes of each.
 *
 *   $ warpsmith ops argmax
 *   operator  class      result  derivative  becomes  call                                python
 *   argmax    reduction  i64     -           -        (self:T dim:D?=None keepdim:B=...)  torch...
 */
#include <stdio.h>
#include <string.h>

#include "tuner/commands.h"
#include "ws.h"

static const char help[] =
    "usage: warpsmith ops [NAME]\n"
    "\n"
    "The operators whose name, here or in Python, contains NAME; all without one. A line says:\n"
    "  class       pointwise, reduction, scan, view, move, product or creation; a composite is "
    "made of "
    "those\n"
    "  result      its type: promote (of the operands), float (promote, at least f32), same (as "
    "the\n"
    "              first), bool, sum (bools and integers become i64), argument (of dtype=), i64, "
    "own\n"
    "  derivative  rule, zero (flat, or no gradient wanted), by parts (of what it is made of), or "
    "none\n"
    "  becomes     primitives, or the expression of generated kernels\n"
    "  call        parameters with kinds: T tensor, I integer, D dimension, S number, T|S either, "
    "F float,\n"
    "              B bool, Y dtype, s string, _ accepted and ignored; [] a list, ? or None, = "
    "default\n"
    "  python      the names that a program reaches it by\n"
    "\n"
    "example: warpsmith ops softmax\n";

int ops_command(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : NULL;
    if (name && (!strcmp(name, "--help") || !strcmp(name, "-h"))) return fputs(help, stdout), WS_OK;
    if (argc > 2 || (name && *name == '-')) {
        fprintf(stderr, "warpsmith ops: %s '%s'\n",
                argc > 2 ? "one name at a time, not also" : "no option", argv[argc > 2 ? 2 : 1]);
        return WS_USAGE;
    }
    struct arena *a = arena_new();
    struct buf b = buf_new(a);
    bool found = ws_list_operators(&b, name) > 0;
    if (found)
        fputs(b.p, stdout);
    else
        fprintf(stderr, "warpsmith ops: no operator '%s'; nearest: %s\n", name,
                ws_suggest_operators(a, name));
    arena_free(a);
    return found ? WS_OK : WS_USAGE;
}

/* cases_recurrences.c: loops whose elements go their own way, in one kernel on a GPU
 * (kernel/recurrence.h): what is carried, what steps read and where that is made, sums along what
 * lanes share, in sizes that fit no vector and no warp; with their gradients too. */
#include "graph/autograd.h"
#include "graph/loop.h"
#include "tests/fuzz/cases.h"

/* The loop node of output k: so many steps of a body over these operands. */
#define LOOP(operands, carried, first, way, steps, body, k)                                        \
    "loop([" operands "], carried=[" carried "], first=[" first "], way=[" way "], steps=" steps   \
    ", body=" body ", output=" #k ")"

#define DECAY                                                                                      \
    "graph(%h: f32[3, 7], %a: f32[3, 7], %b: f32[3, 7]) {\n"                                       \
    "  %p: f32[3, 7] = mul(%a, %h)\n  %n: f32[3, 7] = add(%p, %b)\n  return %n\n}"

/* The states of a selective scan, [batch, width, states], a and b of all steps, c of [batch,
 * states]. */
#define SELECT(t, b, d, n, c)                                                                      \
    "graph(%h: f32[" b ", " d ", " n "], %a: " t "[" b ", " d ", " n "], %b: " t "[" b ", " d      \
    ", " n "], %c: " c "[" b ", " n "]) {\n"                                                       \
    "  %p: f32[" b ", " d ", " n "] = mul(%a, %h)\n"                                               \
    "  %n: f32[" b ", " d ", " n "] = add(%p, %b)\n"                                               \
    "  %u = unsqueeze(%c, 1)\n"                                                                    \
    "  %m: f32[" b ", " d ", " n "] = mul(%n, %u)\n"                                               \
    "  %y: f32[" b ", " d "] = sum(%m, [2])\n  return %n, %y\n}"

/* What these are made of: of steps in dimension 1. */
#define STATES(t, b, l, d, n)                                                                      \
    "%e = unsqueeze(%d, 3)\n"                                                                      \
    "%da = mul(%e, %A)\n"                                                                          \
    "%ea = exp(%da)\n"                                                                             \
    "%du = mul(%d, %u)\n"                                                                          \
    "%dv = unsqueeze(%du, 3)\n"                                                                    \
    "%bv = unsqueeze(%B, 2)\n"                                                                     \
    "%db = mul(%dv, %bv)\n"                                                                        \
    "%as = movedim(%ea, [1], [0])\n"                                                               \
    "%bs = movedim(%db, [1], [0])\n"                                                               \
    "%cs = movedim(%C, [1], [0])\n"                                                                \
    "%h0 = zeros([" b ", " d ", " n "], dtype=f32)\n"
#define SCAN(t, b, l, d, n)                                                                        \
    "graph(%d: " t "[" b ", " l ", " d "], %u: " t "[" b ", " l ", " d "], %A: " t "[" d ", " n    \
    "], %B: " t "[" b ", " l ", " n "], %C: " t "[" b ", " l ", " n                                \
    "]) {\n" STATES(t, b, l, d, n) "%ys = " LOOP(                                                  \
        "%h0, %as, %bs, %cs", "0, -1, -1, -1", "0, 0, 0, 0", "0, 1, 1, 1", l,                      \
        SELECT(t, b, d, n, t), 1) "\n"                                                             \
                                  "%y = movedim(%ys, [0], [1])\n%z = add(%y, %u)\nreturn %z\n}\n"

/* All states of h = a h + b, [t, batch, width, states], and what is read of them behind it. */
#define READ(t, b, d, n, type, behind)                                                             \
    "graph(%h: " type "[" b ", " d ", " n "], %a: " type "[" t ", " b ", " d ", " n "], %b: " type \
    "[" t ", " b ", " d ", " n "], %c: " type "[" t ", " b ", " n "], %w: f32[" d ", " n "]) {\n"  \
    "%hs = " LOOP("%h, %a, %b", "0, -1, -1", "0, 0, 0", "0, 1, 1", t,                              \
                  "graph(%h: " type "[" b ", " d ", " n "], %a: " type "[" b ", " d ", " n         \
                  "], %b: " type "[" b ", " d ", " n "]) {\n"                                      \
                  "  %p: " type "[" b ", " d ", " n "] = mul(%a, %h)\n"                            \
                  "  %n: " type "[" b ", " d ", " n "] = add(%p, %b)\n  return %n\n}",             \
                  0) "\n" behind "}\n"

/* A running sum of states, of which each step has sums along both dimensions. */
#define RUNNING                                                                                    \
    "graph(%h: f32[5, 7], %s: f32[5, 7], %x: f32[5, 7]) {\n  %d = mul(%h, 0.5)\n"                  \
    "  %n: f32[5, 7] = add(%d, %x)\n  %t: f32[5, 7] = add(%s, %n)\n  %o = sum(%t, [1])\n"          \
    "  %p = sum(%t, [0])\n  return %n, %t, %o, %p\n}"

/* The memory of an mLSTM, [batch, k, v], its first output, with what it is divided by. */
#define MATRIX_MEMORY(name, output, k, v)                                                          \
    name " = " LOOP("%c, %n, %m, %k, %v, %i, %f", "0, 1, 2, -1, -1, -1, -1",                       \
                    "0, 0, 0, 0, 0, 0, 0", "0, 0, 0, 1, 1, 1, 1", "9",                             \
                    "graph(%c: f32[2, " k ", " v "], %n: f32[2, " k "], %m: f32[2], %k: f32[2, " k \
                    "], %v: f32[2, " v "], %i: f32[2], %f: f32[2]) {\n"                            \
                    "  %s = add(%f, %m)\n  %t: f32[2] = maximum(%s, %i)\n"                         \
                    "  %d = sub(%s, %t)\n  %e = exp(%d)\n  %g = sub(%i, %t)\n  %h = exp(%g)\n"     \
                    "  %eu = unsqueeze(%e, 1)\n  %hu = unsqueeze(%h, 1)\n"                         \
                    "  %nd = mul(%n, %eu)\n  %nk = mul(%k, %hu)\n  %nn: f32[2, " k                 \
                    "] = add(%nd, %nk)\n  %ee = unsqueeze(%eu, 2)\n  %ku = unsqueeze(%nk, 2)\n"    \
                    "  %vu = unsqueeze(%v, 1)\n  %kv = mul(%ku, %vu)\n  %cd = mul(%c, %ee)\n"      \
                    "  %cn: f32[2, " k ", " v "] = add(%cd, %kv)\n  %qu = unsqueeze(%k, 2)\n"      \
                    "  %cq = mul(%cn, %qu)\n  %o = sum(%cq, [1])\n  %nq = mul(%nn, %k)\n"          \
                    "  %z = sum(%nq, [1], True)\n  %a = abs(%z)\n  %b = add(%a, 1.0)\n"            \
                    "  %y: f32[2, " v "] = div(%o, %b)\n  return %cn, %nn, %t, %y\n}",             \
                    output) "\n"
#define MATRIX_STATE(k, v)                                                                         \
    "graph(%c: f32[2, " k ", " v "], %n: f32[2, " k "], %m: f32[2], %k: f32[9, 2, " k              \
    "], %v: f32[9, 2, " v "], %i: f32[9, 2], %f: f32[9, 2]) {\n" MATRIX_MEMORY("%y", 3, k, v)      \
        MATRIX_MEMORY("%ns", 1, k, v) MATRIX_MEMORY("%ms", 2, k, v) "return %y, %ns, %ms\n}\n"

/* Two layers, of which the second reads what the first one's pass a threshold, and steps read what
 * is before them. */
#define LAYERS(name, output)                                                                       \
    name " = " LOOP("%g, %h, %x, %w", "0, 1, -1, -1", "0, 0, 0, 0", "0, 0, 1, 0", "9",             \
                    "graph(%g: f32[3, 5], %h: f32[3, 7], %x: f32[3, 5], %w: f32[5, 7]) {\n"        \
                    "  %d = mul(%g, 0.9)\n  %a: f32[3, 5] = add(%d, %x)\n  %s = sigmoid(%a)\n"     \
                    "  %p = matmul(%s, %w)\n  %e = mul(%h, 0.8)\n  %b: f32[3, 7] = add(%e, %p)\n"  \
                    "  %t: f32[3, 7] = tanh(%b)\n  return %a, %b, %t\n}",                          \
                    output) "\n"

/* Two layers again, of which the second reads what is made of a step's input in that step and in
 * the next one. */
#define DELAYED(name, output)                                                                      \
    name " = " LOOP("%g, %h, %q, %x, %w, %u", "0, 1, 2, -1, -1, -1", "0, 0, 0, 0, 0, 0",           \
                    "0, 0, 0, 1, 0, 1", "9",                                                       \
                    "graph(%g: f32[3, 5], %h: f32[3, 7], %q: f32[3, 7], %x: f32[3, 5], "           \
                    "%w: f32[5, 7], %u: f32[3, 7]) {\n"                                            \
                    "  %d = mul(%g, 0.9)\n  %a: f32[3, 5] = add(%d, %x)\n  %s = sigmoid(%a)\n"     \
                    "  %v: f32[3, 7] = tanh(%u)\n  %k = mul(%q, %v)\n  %o = mul(%k, %h)\n"         \
                    "  %p = matmul(%s, %w)\n  %e = mul(%o, 0.8)\n  %b: f32[3, 7] = add(%e, %p)\n"  \
                    "  %t: f32[3, 7] = tanh(%b)\n  return %a, %b, %v, %t\n}",                      \
                    output) "\n"

/* A state with a sum along both of its axes, of which the second loop makes something with the
 * input of the step before; all states are wanted. */
#define DELAYED_SUM(name, output)                                                                  \
    name " = " LOOP("%c, %m, %q, %k, %v, %u", "0, 1, 2, -1, -1, -1", "0, 0, 0, 0, 0, 0",           \
                    "0, 0, 0, 1, 1, 1", "9",                                                       \
                    "graph(%c: f32[2, 32, 36], %m: f32[2, 32], %q: f32[2, 32], %k: f32[2, 32], "   \
                    "%v: f32[2, 36], %u: f32[2, 32]) {\n"                                          \
                    "  %d: f32[2, 32] = tanh(%u)\n  %ku = unsqueeze(%k, 2)\n"                      \
                    "  %vu = unsqueeze(%v, 1)\n  %kv = mul(%ku, %vu)\n  %cd = mul(%c, 0.9)\n"      \
                    "  %n: f32[2, 32, 36] = add(%cd, %kv)\n  %w = mul(%n, %ku)\n"                  \
                    "  %s = sum(%w, [1, 2])\n  %su = unsqueeze(%s, 1)\n  %sp = mul(%su, %q)\n"     \
                    "  %md = mul(%m, 0.5)\n  %mn: f32[2, 32] = add(%md, %sp)\n"                    \
                    "  return %n, %mn, %d\n}",                                                     \
                    output) "\n"

enum { WITHOUT_GRADIENTS = 14 }; /* of these: integers and comparisons */
static const char *const programs[] = {
    /* all states, and the last one again */
    "graph(%h: f32[3, 7], %a: f32[9, 3, 7], %b: f32[9, 3, 7]) {\n"
    "%hs = " LOOP("%h, %a, %b", "0, -1, -1", "0, 0, 0", "0, 1, 1", "9", DECAY,
                  0) "\n"
                     "%l = select(%hs, 0, 8)\nreturn %hs, %l\n}\n",
    /* the last state alone; steps backwards from the one before the last */
    "graph(%h: f32[3, 7], %a: f32[9, 3, 7], %b: f32[9, 3, 7]) {\n"
    "%hs = " LOOP("%h, %a, %b", "0, -1, -1", "0, 0, 7", "0, 1, -1", "8", DECAY,
                  0) "\n"
                     "%l = select(%hs, 0, 7)\nreturn %l\n}\n",
    /* selective scans, what they read of all steps being made where it is read */
    SCAN("f32", "2", "9", "5", "3"),
    SCAN("bf16", "2", "10", "6", "16"),
    SCAN("f32", "1", "8", "33", "40"),
    SCAN("f32", "3", "11", "1", "4"),
    SCAN("bf16", "2", "17", "3", "1"),
    /* linear attention: a product with what is carried */
    "graph(%s: f32[2, 5, 4], %q: f32[9, 2, 1, 5], %k: f32[9, 2, 5, 1], %v: f32[9, 2, 1, 4]) {\n"
    "%y = " LOOP("%s, %q, %k, %v", "0, -1, -1, -1", "0, 0, 0, 0", "0, 1, 1, 1", "9",
                 "graph(%s: f32[2, 5, 4], %q: f32[2, 1, 5], %k: f32[2, 5, 1], %v: f32[2, 1, 4]) {\n"
                 "  %kv: f32[2, 5, 4] = mul(%k, %v)\n  %d: f32[2, 5, 4] = mul(%s, 0.9)\n"
                 "  %n: f32[2, 5, 4] = add(%d, %kv)\n  %o: f32[2, 1, 4] = matmul(%q, %n)\n"
                 "  return %n, %o\n}",
                 1) "\nreturn %y\n}\n",
    /* the same of heads: a product's batches are two axes of what is carried */
    "graph(%s: f32[2, 3, 5, 4], %q: f32[9, 2, 3, 5], %k: f32[9, 2, 3, 5], %v: f32[9, 2, 3, 4]) {\n"
    "%y = " LOOP("%s, %q, %k, %v", "0, -1, -1, -1", "0, 0, 0, 0", "0, 1, 1, 1", "9",
                 "graph(%s: f32[2, 3, 5, 4], %q: f32[2, 3, 5], %k: f32[2, 3, 5], "
                 "%v: f32[2, 3, 4]) {\n"
                 "  %a = unsqueeze(%k, 3)\n  %b = unsqueeze(%v, 2)\n  %kv = mul(%a, %b)\n"
                 "  %d = mul(%s, 0.9)\n  %n: f32[2, 3, 5, 4] = add(%d, %kv)\n"
                 "  %r = unsqueeze(%q, 2)\n  %o = matmul(%r, %n)\n  %p = squeeze(%o, 2)\n"
                 "  return %n, %p\n}",
                 1) "\nreturn %y\n}\n",
    /* the same by products: k v is one of a depth of one, whose batches are one axis */
    "graph(%s: f32[2, 3, 5, 4], %q: f32[9, 2, 3, 5], %k: f32[9, 2, 3, 5], %v: f32[9, 2, 3, 4], "
    "%g: f32[3, 1, 1]) {\n"
    "%y = " LOOP("%s, %q, %k, %v, %g", "0, -1, -1, -1, -1", "0, 0, 0, 0, 0", "0, 1, 1, 1, 0", "9",
                 "graph(%s: f32[2, 3, 5, 4], %q: f32[2, 3, 5], %k: f32[2, 3, 5], "
                 "%v: f32[2, 3, 4], %g: f32[3, 1, 1]) {\n"
                 "  %a = unsqueeze(%k, 3)\n  %b = unsqueeze(%v, 2)\n  %kv = matmul(%a, %b)\n"
                 "  %d = mul(%s, %g)\n  %n: f32[2, 3, 5, 4] = add(%d, %kv)\n"
                 "  %r = unsqueeze(%q, 2)\n  %o = matmul(%r, %n)\n  %p = squeeze(%o, 2)\n"
                 "  return %n, %p\n}",
                 1) "\nreturn %y\n}\n",
    /* the delta rule: what a step takes from its state is a sum of that */
    "graph(%s: f32[3, 6, 4], %q: f32[9, 3, 6], %k: f32[9, 3, 6], %v: f32[9, 3, 4], "
    "%b: f32[9, 3, 1]) {\n"
    "%y = " LOOP("%s, %q, %k, %v, %b", "0, -1, -1, -1, -1", "0, 0, 0, 0, 0", "0, 1, 1, 1, 1", "9",
                 "graph(%s: f32[3, 6, 4], %q: f32[3, 6], %k: f32[3, 6], %v: f32[3, 4], "
                 "%b: f32[3, 1]) {\n"
                 "  %kk = unsqueeze(%k, 2)\n  %sk = mul(%s, %kk)\n  %old = sum(%sk, [1])\n"
                 "  %d = sub(%v, %old)\n  %db = mul(%d, %b)\n  %dd = unsqueeze(%db, 1)\n"
                 "  %u = mul(%kk, %dd)\n  %n: f32[3, 6, 4] = add(%s, %u)\n"
                 "  %qq = unsqueeze(%q, 2)\n  %qn = mul(%qq, %n)\n  %o = sum(%qn, [1])\n"
                 "  return %n, %o\n}",
                 1) "\nreturn %y\n}\n",
/* what is read is the state before the step, and a parameter of all steps, in bf16, too */
#define BONUS(t)                                                                                   \
    "graph(%s: " t "[2, 5, 7], %r: " t "[9, 2, 5], %k: " t "[9, 2, 5], %v: " t "[9, 2, 7], %w: " t \
    "[9, 2, 5], %u: " t "[5]) {\n"                                                                 \
    "%y = " LOOP("%s, %r, %k, %v, %w, %u", "0, -1, -1, -1, -1, -1", "0, 0, 0, 0, 0, 0",            \
                 "0, 1, 1, 1, 1, 0", "9",                                                          \
                 "graph(%s: " t "[2, 5, 7], %r: " t "[2, 5], %k: " t "[2, 5], %v: " t              \
                 "[2, 7], %w: " t "[2, 5], %u: " t "[5]) {\n"                                      \
                 "  %kk = unsqueeze(%k, 2)\n  %vv = unsqueeze(%v, 1)\n  %kv = mul(%kk, %vv)\n"     \
                 "  %uu = unsqueeze(%u, 1)\n  %b = mul(%uu, %kv)\n  %sb = add(%s, %b)\n"           \
                 "  %rr = unsqueeze(%r, 2)\n  %m = mul(%sb, %rr)\n  %o = sum(%m, [1])\n"           \
                 "  %ww = unsqueeze(%w, 2)\n  %d = mul(%s, %ww)\n"                                 \
                 "  %n: " t "[2, 5, 7] = add(%d, %kv)\n  return %n, %o\n}",                        \
                 1) "\nreturn %y\n}\n"
    BONUS("f32"),
    BONUS("bf16"),
    /* a matrix, its normalizer and their scale: points make what they have in common each for
     * itself, and the first of them stores it */
    MATRIX_STATE("5", "7"),
    /* a line of delays, a counter, and what one step compares */
    "graph(%a: f32[6], %b: f32[6], %c: i64[6], %x: f32[12, 6]) {\n"
    "%y = " LOOP("%a, %b, %c, %x", "0, 1, 2, -1", "0, 0, 0, 1", "0, 0, 0, 1", "11",
                 "graph(%a: f32[6], %b: f32[6], %c: i64[6], %x: f32[6]) {\n"
                 "  %s: f32[6] = sub(%a, %b)\n  %g: bool[6] = gt(%x, %s)\n"
                 "  %n: i64[6] = add(%c, %g)\n  return %b, %x, %n, %s\n}",
                 3) "\n"
                    "%n = " LOOP("%a, %b, %c, %x", "0, 1, 2, -1", "0, 0, 0, 1", "0, 0, 0, 1", "11",
                                 "graph(%a: f32[6], %b: f32[6], %c: i64[6], %x: f32[6]) {\n"
                                 "  %s: f32[6] = sub(%a, %b)\n  %g: bool[6] = gt(%x, %s)\n"
                                 "  %n: i64[6] = add(%c, %g)\n  return %b, %x, %n, %s\n}",
                                 2) "\n"
                                    "%m = select(%n, 0, 10)\nreturn %y, %m\n}\n",
    /* states that all together sum up to 1, and their largest: sums go back into the states */
    "graph(%s: f32[5, 11], %x: f32[9, 5, 11]) {\n"
    "%y = " LOOP("%s, %x", "0, -1", "0, 0", "0, 1", "9",
                 "graph(%s: f32[5, 11], %x: f32[5, 11]) {\n"
                 "  %e: f32[5, 11] = exp(%x)\n  %p: f32[5, 11] = mul(%s, %e)\n"
                 "  %q: f32[5, 11] = add(%p, %e)\n  %t: f32[5, 1] = sum(%q, [1], True)\n"
                 "  %n: f32[5, 11] = div(%q, %t)\n  %m: f32[5] = amax(%n, [1])\n"
                 "  return %n, %m\n}",
                 1) "\nreturn %y\n}\n",
    /* what is read is padded, and a part of what is there: all of it in bf16 */
    "graph(%h: bf16[2, 9], %x: bf16[12, 2, 7], %w: bf16[9]) {\n"
    "%p = constant_pad_nd(%x, [1, 1], 0.5)\n%e = mul(%p, %w)\n%g = sigmoid(%e)\n"
    "%y = " LOOP("%h, %g, %p", "0, -1, -1", "0, 2, 2", "0, 1, 1", "10",
                 "graph(%h: bf16[2, 9], %g: bf16[2, 9], %p: bf16[2, 9]) {\n"
                 "  %d: bf16[2, 9] = sub(%p, %h)\n  %m: bf16[2, 9] = mul(%g, %d)\n"
                 "  %n: bf16[2, 9] = add(%h, %m)\n  return %n\n}",
                 0) "\nreturn %y\n}\n",
    /* sums of what steps left, of those to come first, taken in them */
    READ("9", "2", "5", "3", "f32",
         "%f = flip(%hs, [0])\n%u = unsqueeze(%c, 2)\n%m = mul(%f, %u)\n%e = exp(%w)\n"
         "%n = mul(%m, %e)\n%y = sum(%n, [3])\n%z = transpose(%y, 0, 1)\n%x = amax(%hs, [3])\n"
         "return %z, %x\n"),
    /* and along the steps, with others and alone */
    READ("11", "3", "4", "7", "f32",
         "%m = mul(%hs, %hs)\n%s = sum(%m, [0, 1])\n%f = flip(%hs, [0])\n%n = mul(%f, %b)\n"
         "%r = sum(%n, [0])\nreturn %s, %r\n"),
    READ("8", "2", "9", "16", "bf16",
         "%u = unsqueeze(%c, 2)\n%m = mul(%hs, %u)\n%y = sum(%m, [3])\n%o = to(%hs, dtype=f32)\n"
         "%q = mul(%o, %w)\n%s = sum(%q, [0, 1])\nreturn %y, %s, %hs\n"),
    /* along the width, and along the states: one of them alone can be in the steps */
    READ("10", "2", "6", "4", "f32",
         "%m = mul(%hs, %w)\n%y = sum(%m, [3])\n%z = sum(%m, [2])\nreturn %y, %z\n"),
    /* a sum so far is read in each step, by sums one way and the other: it is no sum behind the
     * loop */
    "graph(%h: f32[5, 7], %s: f32[5, 7], %x: f32[9, 5, 7]) {\n"
    "%y = " LOOP("%h, %s, %x", "0, 1, -1", "0, 0, 0", "0, 0, 1", "9", RUNNING,
                 2) "\n"
                    "%z = " LOOP("%h, %s, %x", "0, 1, -1", "0, 0, 0", "0, 0, 1", "9", RUNNING,
                                 3) "\n"
                                    "return %y, %z\n}\n",
    /* the matrix again, where all points of a vector have one normalizer */
    MATRIX_STATE("4", "16"),
    /* one loop is two, with a product in between */
    "graph(%g: f32[3, 5], %h: f32[3, 7], %x: f32[9, 3, 5], %w: f32[5, 7]) {\n" LAYERS(
        "%y", 2) "return %y\n}\n",
    "graph(%g: f32[3, 5], %h: f32[3, 7], %q: f32[3, 7], %x: f32[9, 3, 5], %w: f32[5, 7], "
    "%u: f32[9, 3, 7]) {\n" DELAYED("%y", 3) DELAYED("%z", 2) "return %y, %z\n}\n",
    "graph(%c: f32[2, 32, 36], %m: f32[2, 32], %q: f32[2, 32], %k: f32[9, 2, 32], "
    "%v: f32[9, 2, 36], %u: f32[9, 2, 32]) {\n" DELAYED_SUM("%y", 0)
        DELAYED_SUM("%z", 1) "return %y, %z\n}\n",
    /* a sum along two axes, of which steps have one */
    READ("9", "2", "6", "4", "f32",
         "%m = mul(%hs, %w)\n%y = sum(%m, [3])\n%f = flip(%hs, [0])\n%n = mul(%f, %b)\n"
         "%z = sum(%n, [2, 3])\nreturn %y, %z\n"),
};

/* States of which there are sums along either axis, so large that steps are gone through twice. */
static const char twice[] =
    "graph(%s: f32[256, 260], %k: f32[9, 256, 1], %v: f32[9, 1, 260], %q: f32[9, 260], "
    "%p: f32[9, 256]) {\n%hs = " LOOP(
        "%s, %k, %v", "0, -1, -1", "0, 0, 0", "0, 1, 1", "9",
        "graph(%s: f32[256, 260], %k: f32[256, 1], %v: f32[1, 260]) {\n"
        "  %kv = mul(%k, %v)\n  %d = mul(%s, 0.9)\n  %n: f32[256, 260] = add(%d, %kv)\n"
        "  return %n\n}",
        0) "\n%qu = unsqueeze(%q, 1)\n%m = mul(%hs, %qu)\n%y = sum(%m, [2])\n"
           "%pu = unsqueeze(%p, 2)\n%w = mul(%hs, %pu)\n%z = sum(%w, [1])\nreturn %y, %z\n}\n";

void cases_recurrences(struct arena *a, case_vec *out) {
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct diag d = diag_new(a);
        struct source src = {"program", programs[i], strlen(programs[i])};
        struct graph *g = graph_parse(a, exprs_new(a), &src, &d);
        if (!g) WS_BUG("%s", d.text);
        vec_push(a, out, ((struct case_graph){.text = case_text(g), .every = 3}));
        bool wants[16] = {true, true, true, true, true, true};
        struct graph *joint = i == WITHOUT_GRADIENTS ? NULL : graph_backward(g, wants, &d);
        if (!joint && i != WITHOUT_GRADIENTS) WS_BUG("%s", d.text);
        if (joint)
            vec_push(a, out,
                     ((struct case_graph){.text = case_text(graph_hoist(joint)), .every = 12}));
    }
    vec_push(a, out, ((struct case_graph){.text = twice, .every = CASES_DEFAULT}));
}

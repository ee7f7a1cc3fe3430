/* cuda_mma.h: what the emitters of tile programs share. Private to emit/. */
#ifndef WS_EMIT_CUDA_MMA_H
#define WS_EMIT_CUDA_MMA_H

#include "emit/impl.h"
#include "tile/tile.h"

/* cuda_pack.c: a launch that writes a ring's operand at its byte of the workspace, or of what is
 * kept across calls; and where that is, as an argument. */
void emit_cuda_pack(struct emitter *w, const struct tile_program *t, int ring, const char *name);
struct ws_arg image_argument(const struct operand *o, int64_t image);

/* cuda_warps.c: the instructions of a program whose warps multiply by themselves, and copy: the
 * copy of a ring's tile `ahead` steps on, and a step's products. */
void put_copy_by_warps(struct emitter *w, const struct tile_program *t, const struct tile_ring *r,
                       int ahead);
void put_dot_by_warps(struct emitter *w, const struct tile_program *t);
/* DOT_ADD: warps make planes of f32 in registers, and add what 16 of the depth come to. */
void put_dot_of_made_planes(struct emitter *w, const struct tile_program *t);
/* Before the first tile: where operands begin, where the warp is in the tile. */
void put_places_of_warps(struct emitter *w, const struct tile_program *t);
/* Arguments and parameters beside those of every kernel. */
void add_images(struct emitter *w, const struct tile_program *t, struct ws_launch *l);
void put_image_parameters(struct emitter *w, const struct tile_program *t);

/* cuda_boxes.c: the same where a role copies, by tensor maps; before a tile's steps, where its
 * windows are. */
void put_first_window(struct emitter *w, const struct tile_ring *r);
/* In a step of a role: of a left factor that lies (operand.lying), the step's number, its first
 * tap, and how many positions further than a row's own that reads. In a tile, for threads that
 * multiply: where their rows are along dimensions with an edge. */
void put_lying_step(struct emitter *w, const struct tile_program *t);
void put_lying_rows(struct emitter *w, const struct tile_program *t);
void put_copy(struct emitter *w, const struct tile_program *t, const struct tile_ring *r);

/* cuda_wgmma.c: products of warpgroups: the instruction, a function before the kernel; before the
 * first tile, the operands of the first stage; a step's products, with which the sums begin where
 * they are fresh, or at a tile's first step. */
void put_wgmma(struct emitter *w, const struct tile_program *t);
/* An instruction, as a function of that name: the types of its sums, their columns, the factors'
 * types, whether the left one is in registers, and which lie along their rows in shared memory. */
struct wgmma {
    const char *name, *type;
    int columns;
    enum dtype a, b;
    bool held, along_a, along_b;
};
void put_wgmma_instruction(struct emitter *w, const struct wgmma *x);
void put_wgmma_operands(struct emitter *w, const struct tile_program *t);
void put_dot_by_warpgroups(struct emitter *w, const struct tile_program *t, bool fresh);

/* cuda_wgmma.c: of the operand of a ring in shared memory, which is of_a or of_b in the first
 * stage, that of instruction i of the stage at hand, of a plane; the depth of an instruction. */
const char *operand_of(struct emitter *w, const struct tile_ring *r, int plane);
int instruction_depth(const struct operand *o);

/* cuda_tcgen05.c: the same where sums lie in tensor memory (sm_100a). Before the kernel, how warps
 * read them; in it, that it has them, and no more; at the heads of the roles that issue and read;
 * a step's products, and the instructions that only these roles have. */
void put_tensor_reading(struct emitter *w, const struct tile_program *t);
void put_tensor_barriers(struct emitter *w, const struct tile_program *t);
void put_tensor_place(struct emitter *w, const struct tile_program *t);
void put_tensor_end(struct emitter *w, const struct tile_program *t);
void put_tensor_role(struct emitter *w, const struct tile_program *t, bool issues);
void put_tensor_dot(struct emitter *w, const struct tile_program *t, bool fresh);
void put_tensor_inst(struct emitter *w, const struct tile_program *t, const struct tile_inst *x);
/* CROSS, where it is its turn: crossed sums are in the array `sums`. */
void open_tensor_cross(struct emitter *w, const struct tile_program *t, int steps);

/* cuda_mma.c: the program, instruction by instruction, and before it the steps that batches have,
 * where these are not all. */
void put_tile_code(struct emitter *w, const struct tile_program *t);
void put_batch_steps(struct emitter *w, const struct tile_program *t);
/* Where those who multiply split factors: verdicts of a block, one of each warp. */
int split_verdicts(const struct tile_program *t);
/* cuda_mma.c: the number of the barrier that a warpgroup has to itself. */
const char *group_barrier(const struct tile_program *t);
/* cuda_epilogue.c: the row, or column, that the operand's number `flat` is; `end`: it is none. */
void put_number(struct emitter *w, const struct operand *o, const char *name, const char *flat,
                const char *end);
/* How far the first of a thread's rows number i of eights is from its first; where what its
 * warpgroup exchanges lies, from a byte of the exchange on. */
const char *eight_text(struct emitter *w, const char *i);
const char *exchange_text(struct emitter *w, const struct tile_program *t, int byte);

/* cuda_mma.c: the ring whose stages are filled again, which is how these lie. In a step of a role:
 * does all of its depth count? `whole`, where steps differ. */
const struct tile_ring *moving_ring(const struct tile_program *t);
void put_whole_step(struct emitter *w, const struct tile_program *t);

/* cuda_make.c: tiles that warps make. TAKE, MAKE, and, at the head of their role, which threads of
 * it these are. */
/* z, m0 and n0 of number `tile`. */
void put_tile_place(struct emitter *w, const struct tile_program *t);
void put_places_of_makers(struct emitter *w, const struct tile_program *t);
void put_take(struct emitter *w, const struct tile_program *t, const struct tile_ring *r);
/* Where takes go ahead: that of the group's first step, before all others; behind each step that of
 * its next one. */
void put_first_take(struct emitter *w, const struct tile_program *t, const struct tile_ring *r);
void put_next_take(struct emitter *w, const struct tile_program *t, const struct tile_ring *r);
void put_make(struct emitter *w, const struct tile_program *t, const struct tile_ring *r);

/* cuda_runs.c: the two of tiles that are made of runs of the depth. */
void declare_runs(struct emitter *w, const struct tile_ring *r);
void put_take_runs(struct emitter *w, const struct tile_program *t, const struct tile_ring *r);
void put_make_runs(struct emitter *w, const struct tile_program *t, const struct tile_ring *r);

/* cuda_mma.c: of sums in registers: "float" or "int"; the name that PTX has for a type that is
 * multiplied, and its number in the emulator (tests/emulator/hooks.h). */
const char *sum_type(const struct tile_program *t);
const char *unit_type(enum dtype t);
int unit_number(enum dtype a, enum dtype b);
/* What names of an operand's end in. */
char ring_letter(const struct tile_ring *r);
/* cuda_mma.c: digit d of the number of a window, or of a tap, times how far these are apart:
 * "tap / 3 % 3 * 2". */
const char *window_digit_text(struct emitter *w, const struct im2col *of, int d,
                              const char *number);
/* Where along the depth the part's step of this number begins. */
const char *depth_of_step(struct emitter *w, const struct tile_program *t, const char *step,
                          int depth);
const char *tap_digit_text(struct emitter *w, const struct im2col *of, int d, const char *number);

/* cuda_mma_launch.c: the launches of a product in bf16 that stands beside one of pairs do nothing
 * unless that one has found something out of its range: their parameter, and the way out. */
void put_verdict_parameter(struct emitter *w, const struct tile_program *t, struct ws_launch *l);
void put_split(struct emitter *w, const struct tile_program *t); /* cuda_wgmma.c */
void put_unless_wide(struct emitter *w, const struct tile_program *t);

/* cuda_mma.c: what was summed up is added to the total. */
void put_add(struct emitter *w, const struct tile_program *t);

/* cuda_epilogue.c: from the sums of a thread, an array of that name, a phase of the epilogue; in
 * scope are z, m0, n0, tid and the first of the thread's rows and of its warp's
 * columns, first_row and first_column. put_again: a function before the kernel that makes one
 * element by plain arithmetic. */
void put_epilogue_of(struct emitter *w, const struct tile_program *t, const char *sums, int phase);
void put_prefetch(struct emitter *w, const struct tile_program *t);
void put_keep(struct emitter *w, const struct tile_program *t, const char *sums); /* KEEP */
void put_again(struct emitter *w, const struct tile_program *t);
/* Do some tiles have rows beyond the factor's; and the condition that all of the warp's eight rows
 * of that number are such. */
bool tile_rows_end(const struct tile_program *t);
const char *rows_end_text(struct emitter *w, const struct tile_program *t, const char *eight);

/* cuda_partials.c: the reductions of an epilogue. Where warps leave what they have, and where in
 * the tile the thread's warp is; accumulators a5[..], of which the array's dimensions are given;
 * what a warp's threads have becomes what the warp has: of a row at hand, of the columns of a
 * chunk, of all its elements. */
void declare_exchange(struct emitter *w, const struct tile_program *t);
void declare_terms(struct emitter *w, const struct phase *f, const char *dims);
void put_warp_rows(struct emitter *w, const struct phase *f);
void put_warp_columns(struct emitter *w, const struct phase *f, int chunk);
void put_warp_sums(struct emitter *w, const struct tile_program *t, const struct phase *f);
/* Around all of these, where a result takes a span of n. */
void open_span(struct emitter *w, const struct tile_program *t);
void close_span(struct emitter *w, const struct tile_program *t, const struct phase *f);
/* The instructions from REDUCE on but KEEP; parameters and arguments for these; the launch behind
 * the product. */
void put_tile_reduce(struct emitter *w, const struct tile_program *t, const struct phase *f);
void put_leave_partials(struct emitter *w, const struct tile_program *t, const struct phase *f);
void put_meet_partials(struct emitter *w, const struct tile_program *t, int tiles, int phase);
void put_hold(struct emitter *w, const struct tile_program *t);
void put_rescale(struct emitter *w, const struct tile_program *t, const char *sums);
void put_row_results(struct emitter *w, const struct tile_program *t);
void put_partials_parameters(struct emitter *w, const struct tile_program *t, struct ws_launch *l);
void emit_partials_finish(struct emitter *w, const struct tile_program *t);

#endif

/* cost.h: the estimate that orders configs, in microseconds. Private to cost.c, which has what both
 * kinds of devices share, and cost_cpu.c, cost_gpu.c, and of that cost_scatter.c, cost_products.c,
 * cost_chained.c, cost_circle.c and cost_short.c. */
#ifndef WS_KERNEL_COST_H
#define WS_KERNEL_COST_H

#include "kernel/kernel.h"

enum {
    SECTOR = 32, /* bytes that memory hands out at once */
    LINE = 128,  /* bytes that it hands out fastest */
    BYTES_IN_FLIGHT =
        48 << 10, /* a multiprocessor's, that an H200 needs to reach its memory's speed */
};

double cost_on_cpu(const struct kernel *k, const struct layout *y);
double cost_on_gpu(const struct kernel *k, const struct layout *y);
/* Of a GPU's sums whose sources land where an index says. */
double cost_sort(const struct kernel *k, const struct layout *y);
double cost_scattered(const struct kernel *k, const struct layout *y);
/* Of a GPU's products: of multiply-adds, on the matrix units, and one behind another. */
double cost_by_threads(const struct kernel *k, const struct layout *y);
double cost_on_units(const struct kernel *k, const struct layout *y);
double cost_chained(const struct kernel *k, const struct layout *y);
/* Of a GPU's scans by blocks that go through all tiles in rounds. */
double cost_circle(const struct kernel *k, const struct layout *y);
/* Instructions for each element, about: what phases compute again is shared in part. */
double cost_element_work(const struct kernel *k, const struct layout *y);
/* us more that so many bytes take if what is read leaves L2 first. */
double cost_leaving_us(const struct kernel *k, double read, double bytes_us, double slower);

/* us of one block that goes through all the blocks of a kernel's layout, without a launch: of a
 * part of a sequence (sequence.h). */
double cost_in_turns(const struct kernel *k, const struct layout *y, double turns);

/* us of a kernel that moves little (kernel_is_short), or of a scan that does, in so many blocks,
 * each of which takes so many tiles. */
double cost_short_us(const struct kernel *k, const struct layout *y, double grid, double turns);
bool cost_is_short_scan(const struct kernel *k, const struct layout *y);

/* us that adding up the parts of a split reduction takes; 0: it is not split. */
double cost_finish_us(const struct kernel *k, const struct layout *y);

/* Turns of who adds them up, of a few parts each. */
double cost_finish_turns(const struct kernel *k, const struct layout *y);
/* Does a thread read its elements at once, in whichever order? */
bool cost_load_is_whole(const struct kernel *k, const struct layout *y, const struct value_node *v);
/* Instructions for v, of an element that has it; calls: what is expensive is a function's. */
double cost_value_work(const struct kernel *k, const struct layout *y, value_id v, bool calls);
/* Words of a thread's that are under way; its registers, if so many are; and blocks of so many that
 * a multiprocessor holds. */
int cost_loaded_words(const struct kernel *k, const struct layout *y);
int cost_thread_registers(const struct kernel *k, const struct layout *y, int words);
int64_t cost_resident_blocks(const struct kernel *k, const struct layout *y, int registers);
/* How often rows are gone over. */
int cost_reads(const struct kernel *k, const struct layout *y);
/* Rows of a load whose elements lie between each other, as windows beside each other have theirs:
 * how far their first ones are apart; 0 if they do not. */
int64_t cost_windows_apart(const struct kernel *k, const struct value_node *v);
/* Threads of a warp that have other rows which are such windows, in all that a kernel loads: what
 * one of them has read of a line is in L1 for the next. 1: none have. */
int cost_windows(const struct kernel *k, const struct layout *y);
/* Bytes across the memory interface when so many blocks run at a time. */
double cost_traffic(const struct kernel *k, const struct layout *y, int64_t blocks);

#endif

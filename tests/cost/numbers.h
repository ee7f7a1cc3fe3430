/* numbers.h: the numbers of the cost model, in the copy of it that open_numbers.py makes. */
#ifndef COST_NUMBERS_H
#define COST_NUMBERS_H

extern double cost_numbers[];
extern const int cost_n_numbers;

#endif

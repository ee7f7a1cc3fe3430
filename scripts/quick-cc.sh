#!/bin/sh
# quick-cc.sh: $CC without optimisation, for tests of many small kernels that ask what is computed, and not how fast: two
# thirds of their time went to the optimiser. What it makes of our text is for the unit tests that run the same kinds of
# kernels, and for `make test-long`.
for arg; do
    shift
    [ "$arg" = -O3 ] && arg=-O0
    set -- "$@" "$arg"
done
exec cc "$@"

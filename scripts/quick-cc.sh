#!/bin/sh
# quick-cc.sh: $CC without optimisation, for tests of many small kernels that ask what is computed, and not how fast: two
# thirds of their time went to the optimiser. What it makes of our text is for the unit tests that run the same kinds of
# kernels, and for `make test-long`.
#
# Of what is left a third went to reading the system's headers and to looking through its libraries, which the process
# that loads the kernel has anyway: kernels find what they use in tests/quick_include, and are linked with nothing but
# the compiler's own functions.
for arg; do
    shift
    case $arg in
    -O3) arg=-O0 ;;
    -shared) linked=1 ;;
    esac
    set -- "$@" "$arg"
done
exec cc -isystem "${0%/*}/../tests/quick_include" "$@" ${linked:+-nostdlib -lgcc}

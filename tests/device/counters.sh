# Hardware counters of kernels that are known: bytes of a copy, pipes, local memory. Skipped where the driver keeps
# counters for administrators.
set -eu
"$BUILD/tests/device/device_counters" cuda:0 ||
    { rc=$?; [ $rc = 3 ] && echo "no CUDA device here, or no counters" && exit 77; exit $rc; }

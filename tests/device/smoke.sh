# The runtime on a GPU: memory, launches, CUPTI times, comparison, errors, an illegal access last.
set -eu
"$BUILD/tests/device/device_smoke" cuda:0 || { rc=$?; [ $rc = 3 ] && echo "no CUDA device here" && exit 77; exit $rc; }

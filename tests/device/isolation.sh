# A GPU in a worker process: an illegal access, a trap and a hang cost one call each.
set -eu
"$BUILD/tests/device/device_isolation" cuda:0 ||
    { rc=$?; [ $rc = 3 ] && echo "no CUDA device here" && exit 77; exit $rc; }

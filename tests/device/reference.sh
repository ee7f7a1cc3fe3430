# References by plain kernels on a GPU, whole and in slices, against the interpreter. GRAPHS=200 random graphs.
set -eu
"$BUILD/tests/device/device_reference" cuda:0 "${GRAPHS:-200}" ||
    { rc=$?; [ $rc = 3 ] && echo "no CUDA device here" && exit 77; exit $rc; }

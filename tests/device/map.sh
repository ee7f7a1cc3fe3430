# Copies through tensor maps on a GPU: what is loaded, byte by byte.
set -eu
"$BUILD/tests/device/device_map" cuda:0 || { rc=$?; [ $rc = 3 ] && echo "no CUDA device with a TMA here" && exit 77; exit $rc; }

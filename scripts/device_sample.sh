#!/usr/bin/env bash
# device_sample.sh: compare two devices by what reports/samples has of both: products (their tables), result files, roofs.
#
#   scripts/device_sample.sh [PREFIX]      writes PREFIX.csv and PREFIX.svg; default reports/samples/devices_h100_h200
#
# Exit codes: those of `warpsmith report`; 1 if a sample is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
prefix=${1:-reports/samples/devices_h100_h200}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
scripts/product_rows.py reports/samples/products_first_guess_h100.csv reports/samples/products_h200.csv >"$tmp/products.csv"
for device in h100 h200; do
    for file in reports/samples/"$device"/*.csv; do cp "$file" "$tmp/${device}_$(basename "$file")"; done
done
"${WARPSMITH:-build/warpsmith}" report --results "$tmp" --out "$tmp/report/index.html" >/dev/null
cp "$tmp/report/devices.csv" "$prefix.csv"
[ ! -e "$tmp/report/figures/index-devices.svg" ] || cp "$tmp/report/figures/index-devices.svg" "$prefix.svg"

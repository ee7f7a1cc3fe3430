#!/usr/bin/env bash
# scripts/check_opinfo.py says where PyTorch is missing, and counts the rows that it has.
set -euo pipefail

mkdir -p "$TMP/none" "$TMP/out"
echo 'raise ImportError("no torch here")' >"$TMP/none/torch.py"
code=0
PYTHONPATH="$TMP/none" python3 scripts/check_opinfo.py --out "$TMP/out" >"$TMP/said" 2>&1 || code=$?
if [ "$code" != 3 ] || ! grep -q 'check_opinfo: needs PyTorch and its OpInfo database: no torch here' "$TMP/said"; then
    echo "without PyTorch: expected exit 3 and what is missing, got $code:"
    cat "$TMP/said"
    exit 1
fi

cat >"$TMP/out/opinfo_0_of_1.csv" <<'END'
operator,variant,dtype,mode,sample,status,message,call
add,function,f32,train,0,right,,"torch.add(x0, x1)"
add,method,f32,train,0,right,,x0.add(x1)
eigh,function,f32,train,0,refused,operator torch.eigh is not supported,torch.eigh(x0)
sort,function,i64,fwd,0,wrong,out1: error 1,torch.sort(x0)
END
code=0
python3 scripts/check_opinfo.py --out "$TMP/out" --table >"$TMP/said" || code=$?
{
    [ "$code" = 1 ]
    tail -1 "$TMP/said" | grep -q '^3 operators, 1 of them right in all; samples: 2 right, 1 wrong, 0 crash, 0 timeout, 1 refused, 0 free, 0 not compared$'
    sed -n 3p "$TMP/said" | grep -q '^sort .* out1: error 1$'
    grep -qx 'add,2,0,0,0,0,0,0' "$TMP/out/opinfo_operators.csv"
} || {
    echo "the table: got exit $code and:"
    cat "$TMP/said" "$TMP/out/opinfo_operators.csv"
    exit 1
}

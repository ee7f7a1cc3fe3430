#!/usr/bin/env bash
# Values that share values have very many ways down: 2^34 of these. Compiling must not go along them, on any device, of
# elements, of rows, of subscripts, or in a product.
set -eu

write() { # NAME, lines of a function of x
    printf 'import torch\nrows = 64\ndim = 64\n\n\ndef %s(x):\n%s\n\n\ndef get_inputs():\n    return [torch.randn(rows, dim)]\n' \
        "$1" "$2" >"$TMP/$1.py"
}

write of_elements '    y = x
    for _ in range(34):
        y = y * y + y
    return y, y.sum(-1), y.cumsum(-1)'
write of_rows '    i = torch.arange(rows, dtype=torch.float32)
    for _ in range(34):
        i = i * i + i
    return x.sum(-1) * i'
write of_subscripts '    i = torch.arange(dim) // 16
    for _ in range(34):
        i = (i * i + i) % 4
    return x[:, i] + x'
write of_product '    y = x
    for _ in range(34):
        y = y * y + y
    return torch.relu(y @ x)'

for name in of_elements of_rows of_subscripts of_product; do
    for arch in sm_90a cpu; do
        code=0
        timeout 60 "$WARPSMITH" compile "$TMP/$name.py" --arch $arch --dump "$TMP/dump" >"$TMP/out" 2>&1 || code=$?
        [ $code = 0 ] && continue
        [ $code = 3 ] && grep -q nvrtc "$TMP/out" && continue # the text was made before that was asked for
        echo "$name for $arch: exit code $code"
        cat "$TMP/out"
        exit 1
    done
done

#!/usr/bin/env bash
# What docs/threat-model.md says of workloads and scripts, tried: files, environment, imports, names of our own.
set -uo pipefail

passed=0 failed=0
cd "$TMP" || exit 1
export SECRET_OF_THE_USER=hidden
echo 'of the user' >secret.txt

ok() { passed=$((passed + 1)); }
fail() {
    printf '%s\n' "$@" "--- out, err:" "$(cat out err)"
    failed=$((failed + 1))
}

# workload BODY: explain a workload whose module body is that.
workload() {
    printf '%s\n' 'import torch' "$1" 'def w(x):' '    return x.exp()' 'def get_inputs():' '    return [torch.randn(4)]' >w.py
    "$WARPSMITH" explain w.py --arch cpu >out 2>err
}
# refused PATTERN BODY: that ends with 1 and PATTERN, and leaves no file behind.
refused() {
    local code=0
    workload "$2" || code=$?
    if [ $code = 1 ] && grep -qE -- "$1" err && [ ! -e written ]; then ok; else fail "exit $code, expected /$1/ of: $2"; fi
}
accepted() { if workload "$1"; then ok; else fail "refused: $1"; fi; }
# harmless BODY: whatever it asks for is not done; only where the function wants the result, it is refused.
harmless() {
    if workload "$1" && [ ! -e written ]; then ok; else fail "refused, or done: $1"; fi
    local code=0
    printf '%s\n' 'import torch' "${1%$'\n'*}" 'def w(x):' "    return x + ${1##*$'\n'}" 'def get_inputs():' '    return [torch.randn(4)]' >w.py
    "$WARPSMITH" explain w.py --arch cpu >out 2>err || code=$?
    if [ $code = 1 ] && [ ! -e written ]; then ok; else fail "exit $code, where the function wants it: $1"; fi
}

refused "name 'open' is not defined: a workload reads no files" "open('secret.txt')"
refused 'reading a file is not supported in a workload' "from pathlib import Path
Path('secret.txt').read_text()"
refused 'writing a file is not supported in a workload' "from pathlib import Path
Path('written').write_text('x')"
harmless "import os
os.mkdir('written')"
accepted "import os
assert os.environ == {} and os.getenv('SECRET_OF_THE_USER') is None and not os.path.exists('secret.txt')"
# What is not there is no error before the function uses it; what is there and is not the workload's, is not run.
echo 'print("imported")' >secret.py
refused 'no module named' 'import _warpsmith
_warpsmith.anything()'
harmless 'import ctypes
ctypes.anything()'
# A file beside the workload is a part of it, with the same rights, and none above its folder or package is.
accepted 'import secret'
echo "open('secret.txt')" >secret.py
refused "secret.py:1:1: .*name 'open'" 'import secret'
mkdir inner
echo 'print("imported")' >secret.py
cat >inner/w.py <<'END'
import torch, secret
def w(x):
    return x.exp()
def get_inputs():
    return [torch.randn(4)]
END
"$WARPSMITH" explain inner/w.py --arch cpu >out 2>err
if ! grep -q imported out err; then ok; else fail 'a module above the folder was run'; fi
# These may be imported, for what no workload comes to; nothing of them is done.
for call in subprocess.run socket.socket os.system; do
    harmless "import ${call%%.*}
${call}('touch written')"
done
# A module by its name is what an import statement makes of it: of one that is not there, nothing before it is used.
harmless "import importlib
importlib.import_module('touch written')"
for call in os.popen os.remove os.execv sys.settrace; do
    refused 'not supported|no attribute|[nN]o module named' "import ${call%%.*}
${call}('touch written')"
done
refused "no attribute|name '|not supported" "torch._dynamo.read_file('secret.txt')"
harmless "__import__('os').system('touch written')"
refused "name '|not supported" "eval('1')"

# A script may: it is a program that the user runs.
cat >s.py <<'END'
import os, torch
print(os.environ['SECRET_OF_THE_USER'], open('secret.txt').read().strip())
with open('written', 'w') as f:
    f.write('x')
END
if "$WARPSMITH" run s.py --device cpu >out 2>err && grep -q '^hidden of the user$' out && [ -e written ]; then ok; else
    fail 'a script reads and writes'
fi

# What it imports has its rights, and so has to be the user's.
echo 'secret = 1' >secret.py
chmod o+w secret.py
echo 'import secret' >s.py
if ! "$WARPSMITH" run s.py --device cpu >out 2>err && grep -q 'can be written by others' err; then ok; else
    fail 'a script imports what others may write to'
fi
chmod o-w secret.py
if "$WARPSMITH" run s.py --device cpu >out 2>err; then ok; else fail 'a script imports a neighbour'; fi

# Nothing of the current folder is loaded: a constructor would leave a file.
rm -f written
mkdir -p .venv/lib/python3.11/site-packages/nvidia/cu13/lib
printf '#include <stdio.h>\n__attribute__((constructor)) static void f(void) { fclose(fopen("%s/trapped", "w")); }\n' "$TMP" >trap.c
cc -shared -fPIC -o .venv/lib/python3.11/site-packages/nvidia/cu13/lib/libcuda.so.1 trap.c
for name in libnvrtc.so.13 libnvrtc.so libcupti.so.13 libcupti.so; do
    cp .venv/lib/python3.11/site-packages/nvidia/cu13/lib/{libcuda.so.1,$name}
    cp .venv/lib/python3.11/site-packages/nvidia/cu13/lib/libcuda.so.1 $name
done
"$WARPSMITH" --version >out 2>err
"$WARPSMITH" run s.py >out 2>err
"$WARPSMITH" explain w.py --arch sm_90a >out 2>err
if [ ! -e trapped ]; then ok; else fail 'a library of the current folder was loaded'; fi

echo "$passed passed, $failed failed"
[ $failed = 0 ]

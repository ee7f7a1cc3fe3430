#!/usr/bin/env bash
# Modules as people write them, in the shape of workloads: each is one graph, and its kernels on the CPU give the
# reference's numbers, every one of them judged; of a few the gradients, too.
set -euo pipefail

# Small kernels, hundreds of them: what they compute is asked.
[ -n "${TEST_LONG:-}" ] || export CC=$PWD/scripts/quick-cc.sh

passed=0 failed=0
check() { # FILE MODE
    if "$WARPSMITH" run "$1" --device cpu --mode "$2" --check >"$TMP/out" 2>"$TMP/err" </dev/null &&
        grep -q 'all outputs agree' "$TMP/out" && ! grep -q 'not judged' "$TMP/out"; then
        passed=$((passed + 1))
    else
        printf '%s\n' "$1, mode $2:" "$(cat "$TMP/out" "$TMP/err")"
        failed=$((failed + 1))
        [ -z "${TEST_STOP:-}" ] || exit 1
    fi
}
for module in tests/modules/*.py; do check "$module" fwd; done
for name in layernorm_by_hand focal_loss squeeze_excite cancelled_mean pooled_gate normed_weights convnet separable_conv causal_conv rnn_aligned own_gradients gradient_penalty timm_block conv_mixer functional captured_graph known_shapes complex_numbers complex_functions complex_parts own_names own_operators public_names public_idioms public_files public_calls known_lengths; do check tests/modules/$name.py train; done

# A file in a package that names the files beside it without the package, as Python finds those beside a script.
mkdir "$TMP/package"
: >"$TMP/package/__init__.py"
printf 'def twice(x):\n    return x * 2\n' >"$TMP/package/beside.py"
printf 'import torch\nfrom beside import twice\n\n\ndef forward(x):\n    return twice(x)\n\n\ndef get_inputs():\n    return [torch.randn(8)]\n' >"$TMP/package/user.py"
check "$TMP/package/user.py" fwd

# An import that fails in a try leaves no half of a module: the next one runs the file again.
printf 'import seen\n\nseen.times.append(1)\nTWO = 2 if len(seen.times) > 1 else missing_name\n' >"$TMP/flaky.py"
printf 'times = []\n' >"$TMP/seen.py"
printf 'import torch\ntry:\n    from flaky import TWO\nexcept NameError:\n    from flaky import TWO\n\n\ndef forward(x):\n    return x * TWO\n\n\ndef get_inputs():\n    return [torch.randn(8)]\n' >"$TMP/again.py"
check "$TMP/again.py" fwd
# sys.path, and a package of which __init__.py has its parts as `from . import part`.
mkdir -p "$TMP/repo/core/nets"
printf 'from . import blocks\nfrom .blocks import unused\nfrom missing_package import *\n' >"$TMP/repo/core/nets/__init__.py"
printf 'import sizes\n\nunused = 0\n\n\ndef scale(x):\n    return x * sizes.SCALE\n' >"$TMP/repo/core/nets/blocks.py"
printf 'SCALE = 3\n' >"$TMP/repo/core/sizes.py"
printf 'import os, sys\nsys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "core"))\nimport torch\nfrom nets import blocks\n\n\ndef forward(x):\n    return blocks.scale(x)\n\n\ndef get_inputs():\n    return [torch.randn(8)]\n' >"$TMP/repo/user.py"
check "$TMP/repo/user.py" fwd

# A table that parts of a package enter themselves into, as __init__.py has them imported; a part that has from the package what
# this has from another part by `import *`.
mkdir -p "$TMP/lists/nets"
printf 'from .table import *\nfrom . import scaled\nfrom .twice import *\nBoth = Twice\n' >"$TMP/lists/nets/__init__.py"
printf 'made = {}\n\n\ndef enter(f):\n    made[f.__name__] = f\n    return f\n' >"$TMP/lists/nets/table.py"
printf 'from nets import enter\n\n\n@enter\ndef scale(x):\n    return x * 3\n' >"$TMP/lists/nets/scaled.py"
printf 'from nets import enter\n\n\nclass Twice:\n    def __call__(self, x):\n        return x * 2\n' >"$TMP/lists/nets/twice.py"
mkdir "$TMP/drivers"
printf 'import sys\nsys.path.insert(0, "%s/lists")\nimport torch\nfrom nets.twice import Twice\nfrom nets.table import made\n\n\ndef forward(x):\n    return Twice()(made["scale"](x))\n\n\ndef get_inputs():\n    return [torch.randn(8)]\n' "$TMP" >"$TMP/drivers/user.py"
check "$TMP/drivers/user.py" fwd

# A package that names its own parts in full: a part has from it what another part defines, though __init__.py needs the
# first one to go on.
mkdir -p "$TMP/full/gym/spaces"
: >"$TMP/full/gym/__init__.py"
printf 'from gym.spaces.box import Box\nfrom gym.spaces.sizes import size_of\n' >"$TMP/full/gym/spaces/__init__.py"
printf 'class Box:\n    n = 3\n' >"$TMP/full/gym/spaces/box.py"
printf 'from gym.spaces import Box\n\n\ndef size_of(x):\n    return x.n if isinstance(x, Box) else 0\n' >"$TMP/full/gym/spaces/sizes.py"
printf 'import sys\nsys.path.insert(0, "%s/full")\nimport torch\nfrom gym import spaces\nfrom gym.spaces.sizes import size_of\n\n\ndef forward(x):\n    return x * size_of(spaces.Box())\n\n\ndef get_inputs():\n    return [torch.randn(8)]\n' "$TMP" >"$TMP/drivers/full.py"
check "$TMP/drivers/full.py" fwd
echo "$passed passed, $failed failed"
[ $failed = 0 ]

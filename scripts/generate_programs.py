#!/usr/bin/env python3
"""Write memory-bound PyTorch programs by seed: the workloads of scripts/bench_generated.sh.

    scripts/generate_programs.py --out out/programs --seeds 1-200 >cases.txt
    scripts/generate_programs.py --out out/programs --seeds 7 --sizes small

A seed makes the same file everywhere: generated_SEED.py, a function of that name over one main tensor of rank 1 to 5 and
what it is combined with. Its steps are drawn from the list STEPS below: pointwise chains, broadcasts, norms, softmaxes and
sums over any set of axes, scans, transposes, slices, gathers and scatters, windows, casts; up to three outputs. The main
tensor has 256 elements up to 2 GB, log-uniform; with small up to 32 MB; even and odd sizes. Seed 0 is one addition over 256 elements.
A line `name path dtype mode steps` a program goes to stdout: the type and the mode, forward or forward and gradients, come
of the seed, too.

Exit codes: 0 fine, 2 wrong call, 3 nothing can be written."""

import argparse
import math
import pathlib
import random
import re
import sys

SIZES = {"real": 2**31, "small": 2**25}  # bytes of the largest main tensor
LEAST = 2**10
INDICES = 2**24  # different ones: warpsmith's randint has no more
DTYPES = {"f32": 4, "bf16": 2, "f16": 2}
UNARY = ["torch.relu({})", "torch.sigmoid({})", "torch.tanh({})", "F.gelu({})", "F.silu({})", "{}.abs()", "{} * 0.5 + 1.0",
         "{} * {}", "torch.exp(-{}.abs())", "({}.abs() + 1.0).sqrt()", "{}.clamp(-1.0, 1.0)", "torch.sin({})",
         "F.softplus({})", "F.leaky_relu({}, 0.1)", "({} * {} + 1.0).log()", "1.0 / ({}.abs() + 1.0)"]
BINARY = ["{} + {}", "{} * {}", "{} - {}", "torch.maximum({}, {})", "torch.sigmoid({}) * {}", "F.silu({}) * {}",
          "{} * 0.9 + {} * 0.1"]
SUMMARIES = ["sum", "mean", "amax", "amin", "var", "logsumexp", "norm"]


def shape_of(r, elements):
    """A shape of about so many elements: the logarithms of its sizes are shares of theirs."""
    rank = r.choice((1, 2, 2, 2, 3, 3, 4, 4, 5))
    shares = [r.random() + 0.15 for _ in range(rank)]
    rest, shape = elements, []
    for d in range(rank - 1):
        size = max(2, round(elements ** (shares[d] / sum(shares))))
        look = r.random()
        if look < 0.5:
            size = 2 ** round(math.log2(size))
        elif look < 0.7:
            size = max(2, size // 8 * 8)
        size = min(size, max(2, rest // 2))
        shape.append(size)
        rest = max(2, rest // size)
    last = rest
    if r.random() < 0.6:
        last = 2 ** round(math.log2(rest))
    r.shuffle(shape)
    return shape + [max(2, last)]


class Program:
    def __init__(self, seed, sizes):
        self.r = r = random.Random(f"generated {seed}")
        self.mode = r.choices(("fwd", "train"), (0.7, 0.3))[0]
        self.dtype = r.choices(tuple(DTYPES), (0.5, 0.4, 0.1))[0]
        size = math.exp(r.uniform(math.log(LEAST), math.log(SIZES[sizes])))
        if self.mode == "train":
            size /= 4  # what the gradients read and write, too
        self.lines, self.inputs, self.outputs, self.made, self.steps = [], [], [], 0, []
        if seed == 0:
            self.mode, self.dtype = "fwd", "f32"
            self.lines, self.inputs, self.outputs, self.steps = ["t0 = x0 + 1.0"], ["torch.randn(256)"], ["t0"], ["launch"]
            return
        shape = shape_of(r, max(256, int(size / DTYPES[self.dtype])))
        self.limit = 2 * math.prod(shape)
        if r.random() < 0.1:
            self.shape = shape
            quantized = self.input(f"torch.randint(-100, 100, {tuple(shape)}, dtype=torch.int8)")
            scale = self.input(f"torch.randn({shape[-1]})")
            self.now = self.let(f"{quantized}.to({scale}.dtype) * (0.01 * {scale})", shape)
            self.steps.append("int8")
        else:
            self.shape, self.now = shape, self.input(f"torch.randn{self.arguments(shape)}")
        wanted, tries = r.choice((1, 2, 2, 3, 3, 4, 5)), 0
        while wanted and tries < 50:
            step = r.choices(list(STEPS), [STEPS[name] for name in STEPS])[0]
            tries += 1
            if getattr(self, step)():
                self.steps.append(step)
                wanted -= 1
        self.outputs.append(self.now)
        self.outputs = list(dict.fromkeys(self.outputs))[-3:]

    # ---- text

    @staticmethod
    def arguments(shape):
        return f"({', '.join(map(str, shape))})"

    def input(self, text):
        self.inputs.append(text)
        return f"x{len(self.inputs) - 1}"

    def let(self, text, shape):
        name = f"t{self.made}"
        self.made += 1
        self.lines.append(f"{name} = {text}")
        self.shape = list(shape)
        return name

    def step(self, text, shape):
        self.now = self.let(text, shape)
        return True

    def beside(self, text):
        """Another value, which may be an output; the main one goes on as it is."""
        shape = self.shape
        name = self.let(text, shape)
        if len(self.outputs) < 3:
            self.outputs.append(name)
        return True

    def axis(self, least=2):
        """One of the axes of at least this size, or None."""
        return self.r.choice([d for d, n in enumerate(self.shape) if n >= least] or [None])

    def axes(self):
        """A set of axes, not empty."""
        rank = len(self.shape)
        count = self.r.choice((1, 1, 1, 2, 2, 3, rank))
        return sorted(self.r.sample(range(rank), min(count, rank)))

    def unary(self, x):
        text = self.r.choice(UNARY)
        return text.format(*[x] * text.count("{}"))

    def size(self):
        return math.prod(self.shape)

    # ---- steps: each True if it has done something

    def pointwise(self):
        for _ in range(self.r.randrange(1, 4)):
            self.step(self.unary(self.now), self.shape)
        return True

    def combine(self):
        other = self.input(f"torch.randn{self.arguments(self.shape)}")
        return self.step(self.r.choice(BINARY).format(self.now, other), self.shape)

    def broadcast(self):
        kept = set(self.axes())
        shape = [n if d in kept else 1 for d, n in enumerate(self.shape)]
        other = self.input(f"torch.randn{self.arguments(shape)}")
        return self.step(self.r.choice(("{} + {}", "{} * {}", "torch.sigmoid({}) * {}")).format(self.now, other), self.shape)

    def mask(self):
        mask = self.input(f"torch.randint(0, 2, {tuple(self.shape)}, dtype=torch.uint8)")
        return self.step(f"{self.now}.masked_fill({mask} > 0, 0.0)", self.shape)

    def center(self):
        dims = self.axes()
        return self.step(f"{self.now} - {self.now}.mean({dims}, keepdim=True)", self.shape)

    def norm(self):
        dims, x = self.axes(), self.now
        if math.prod(self.shape[d] for d in dims) < 4:
            return False
        if self.r.random() < 0.5:
            return self.step(f"{x} * torch.rsqrt(({x} * {x}).mean({dims}, keepdim=True) + 0.1)", self.shape)
        mean = self.let(f"{x}.mean({dims}, keepdim=True)", self.shape)
        var = self.let(f"{x}.var({dims}, correction=0, keepdim=True)", self.shape)
        return self.step(f"({x} - {mean}) * torch.rsqrt({var} + 0.1)", self.shape)

    def softmax(self):
        d = self.axis()
        return d is not None and self.step(f"torch.{self.r.choice(('softmax', 'log_softmax'))}({self.now}, {d})", self.shape)

    def normalize(self):
        d = self.axis(4)
        return d is not None and self.step(f"F.normalize({self.now}, dim={d}, eps=0.1)", self.shape)

    def batch_norm(self):
        if len(self.shape) < 2 or self.shape[1] > 2**16 or self.size() / self.shape[1] < 2:
            return False
        weight, bias = (self.input(f"torch.randn({self.shape[1]})") for _ in range(2))
        return self.step(f"F.batch_norm({self.now}, None, None, {weight}, {bias}, training=True)", self.shape)

    def summary(self):
        """An output of its own beside what goes on."""
        dims, kind = self.axes(), self.r.choice(SUMMARIES)
        if kind == "var" and math.prod(self.shape[d] for d in dims) < 2:
            return False
        text = f"torch.linalg.vector_norm({self.now}, 2.0, {dims})" if kind == "norm" else f"{self.now}.{kind}({dims})"
        if kind == "norm" and self.mode == "train":
            text = f"({self.now} * {self.now}).sum({dims})"
        return self.beside(text)

    def several(self):
        """Outputs of different kinds from one read."""
        self.beside(f"{self.now}.sum({self.axes()})")
        return self.beside(f"{self.now}.amax({self.axes()})") and self.pointwise()

    def reduce(self):
        """What goes on is smaller."""
        if len(self.shape) < 2:
            return False
        dims = self.axes()
        if len(dims) == len(self.shape):
            return False
        shape = [n for d, n in enumerate(self.shape) if d not in dims]
        return self.step(f"{self.now}.{self.r.choice(('sum', 'mean', 'amax'))}({dims})", shape)

    def scan(self):
        d = self.axis(8)
        return d is not None and self.step(f"torch.cumsum({self.now}, {d})", self.shape)

    def transpose(self):
        if len(self.shape) < 2:
            return False
        order = list(range(len(self.shape)))
        while order == sorted(order):
            self.r.shuffle(order)
        shape = [self.shape[d] for d in order]
        text = f"{self.now}.permute({', '.join(map(str, order))})"
        if self.r.random() < 0.5:
            other = self.input(f"torch.randn{self.arguments(shape)}")
            return self.step(f"{text} + {other}", shape)
        return self.step(f"{text}.contiguous()", shape)

    def slice(self):
        d = self.axis(8)
        if d is None:
            return False
        n, step = self.shape[d], self.r.choice((1, 1, 2, 3))
        begin, end = self.r.randrange(0, n // 4), n - self.r.randrange(0, n // 4)
        shape = [*self.shape]
        shape[d] = len(range(begin, end, step))
        return self.step(f"{self.now}[{':, ' * d}{begin}:{end}{f':{step}' if step > 1 else ''}] * 2.0", shape)

    def turn(self):
        d = self.axis()
        if d is None:
            return False
        return self.step(self.r.choice((f"{self.now} + {self.now}.flip({d})", f"{self.now} - {self.now}.roll(1, {d})")), self.shape)

    def pad(self):
        d = self.axis()
        if d is None:
            return False
        before, after = self.r.randrange(3), self.r.randrange(1, 4)
        shape = [*self.shape]
        shape[d] += before + after
        widths = [0, 0] * (len(shape) - 1 - d) + [before, after]
        return math.prod(shape) <= self.limit and self.step(f"F.pad({self.now}, {widths})", shape)

    def join(self):
        d = self.axis(1)
        shape = [*self.shape]
        shape[d] *= 2
        if math.prod(shape) > self.limit:
            return False
        return self.step(f"torch.cat([{self.now}, {self.unary(self.now)}], {d})", shape)

    def gather(self):
        d = self.axis(4)
        if d is None:
            return False
        n = self.shape[d]
        if self.r.random() < 0.6:
            index = self.input(f"torch.randint(0, {min(n, INDICES)}, ({n},))")
            return self.step(f"{self.now}.index_select({d}, {index})", self.shape)
        if self.size() > 2**26:
            return False
        index = self.input(f"torch.randint(0, {min(n, INDICES)}, {tuple(self.shape)})")
        return self.step(f"{self.now}.gather({d}, {index})", self.shape)

    def scatter(self):
        d = self.axis(4)
        if d is None:
            return False
        n = self.shape[d]
        shape = [*self.shape]
        shape[d] = max(2, n // self.r.choice((1, 4)))
        index = self.input(f"torch.randint(0, {min(shape[d], INDICES)}, ({n},))")
        zeros = f"torch.zeros({tuple(shape)}, dtype={self.now}.dtype, device={self.now}.device)"
        return self.step(f"{zeros}.index_add({d}, {index}, {self.now})", shape)

    def window(self):
        """Pooling of any kernel, stride and padding over the last axes."""
        dims = self.r.choice((1, 2, 2, 3))
        if len(self.shape) < dims + 2 or min(self.shape[-dims:]) < 4:
            return False
        kernel = self.r.choice((2, 3, 3, 4))
        stride, padding = self.r.choice((1, 2, kernel)), self.r.choice((0, kernel // 2))
        shape = self.shape[:-dims] + [(n + 2 * padding - kernel) // stride + 1 for n in self.shape[-dims:]]
        if math.prod(shape) > self.limit:
            return False
        x = self.now
        if len(self.shape) > dims + 2:
            x = f"{x}.flatten(0, {len(self.shape) - dims - 2})"
            shape = [math.prod(shape[: -dims - 1]), *shape[-dims - 1 :]]
        return self.step(f"F.{self.r.choice(('max', 'avg'))}_pool{dims}d({x}, {kernel}, {stride}, {padding})", shape)

    def fold(self):
        """Sizes of two axes as one, or of one as two."""
        shape = self.shape
        d = self.r.randrange(len(shape))
        if d + 1 < len(shape) and self.r.random() < 0.5:
            return self.step(f"{self.now}.flatten({d}, {d + 1}) * 0.5", shape[:d] + [shape[d] * shape[d + 1]] + shape[d + 2 :])
        if shape[d] % 4 or len(shape) > 4:
            return False
        return self.step(f"{self.now}.unflatten({d}, (4, {shape[d] // 4})) * 0.5", shape[:d] + [4, shape[d] // 4] + shape[d + 1 :])

    def gate(self):
        d = self.axis(2)
        if d is None or self.shape[d] % 2:
            return False
        shape = [*self.shape]
        shape[d] //= 2
        return self.step(f"F.glu({self.now}, {d})", shape)

    def narrow(self):
        """What is stored in a smaller type."""
        return self.beside(f"({self.unary(self.now)}).to(torch.{self.r.choice(('bfloat16', 'float16'))})")

    def text(self, name, seed):
        call = ", ".join(f"x{i}" for i in range(len(self.inputs)))
        lines = [f'"""Generated, seed {seed}: {" ".join(self.steps)}. To be run in {self.dtype}, mode {self.mode}."""',
                 "import torch", "import torch.nn.functional as F", "", "", f"def {name}({call}):",
                 *[f"    {line}" for line in self.lines], f"    return {', '.join(self.outputs)}", "", "",
                 "def get_inputs():", "    return [", *[f"        {text}," for text in self.inputs], "    ]", ""]
        return "\n".join(lines)


# Each step, and how often it is drawn beside the others.
STEPS = {"pointwise": 4, "combine": 2, "broadcast": 2, "mask": 1, "center": 1, "norm": 3, "softmax": 2, "normalize": 1,
         "batch_norm": 1, "summary": 4, "several": 2, "reduce": 3, "scan": 2, "transpose": 2, "slice": 2, "turn": 1, "pad": 1,
         "join": 1, "gather": 1.5, "scatter": 1, "window": 2.5, "fold": 1, "gate": 1, "narrow": 1}


def seeds_of(text):
    """1-3,7 -> [1, 2, 3, 7]"""
    seeds = []
    for part in text.split(","):
        found = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
        if not found:
            raise argparse.ArgumentTypeError(f"a seed or a range of them, as in 1-3,7, not '{part}'")
        seeds += range(int(found[1]), int(found[2] or found[1]) + 1)
    return seeds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True, metavar="DIR")
    parser.add_argument("--seeds", type=seeds_of, default=[1], metavar="1-9,20")
    parser.add_argument("--sizes", choices=SIZES, default="real")
    given = parser.parse_args()
    try:
        given.out.mkdir(parents=True, exist_ok=True)
        for seed in given.seeds:
            program, name = Program(seed, given.sizes), f"generated_{seed}"
            path = given.out / f"{name}.py"
            path.write_text(program.text(name, seed))
            print(name, path, program.dtype, program.mode, *program.steps)
    except OSError as error:
        print(f"generate_programs: {error}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())

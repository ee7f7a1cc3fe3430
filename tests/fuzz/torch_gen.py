"""Random programs over tensors: a function that torch.compile gets, called a few times, and what it returns, printed. The
same program has to print the same, but for rounding, under every backend."""
import random

UNARY = ("relu sigmoid tanh exp abs neg sqrt rsqrt log1p sin cos floor ceil round sign square reciprocal erf expm1 trunc frac "
         "logical_not isnan").split()
BINARY = "+ - * / // % ** < <= == != > >=".split()
CALLS = ("torch.maximum({}, {})", "torch.minimum({}, {})", "torch.where({} > 0, {}, 0.5)", "torch.atan2({}, {})",
         "torch.hypot({}, {})", "torch.lerp({}, {}, 0.25)", "F.mse_loss({}, {})", "torch.add({}, {}, alpha=2)",
         "torch.copysign({}, {})", "F.softplus({}) + {}", "torch.addcmul({0}, {0}, {1}, value=0.5)")
REDUCE = "sum mean amax amin prod var std argmax argmin all any logsumexp norm".split()
ROWS = ("torch.softmax({}, {})", "torch.log_softmax({}, {})", "torch.cumsum({}, {})", "torch.cumprod({}, {})",
        "torch.sort({}, {})[0]", "torch.flip({}, [{}])", "F.normalize({}, dim={})", "torch.diff({}, dim={})",
        "torch.unsqueeze({}, {})", "torch.squeeze({}, {})", "torch.roll({}, 1, {})", "{}.select({}, 0)", "{}.unbind({})[0]",
        "torch.cat([{0}, {0}], {1})", "torch.stack([{0}, {0}], {1})", "{}.narrow({}, 0, 1)", "{0}.index_select({1}, torch.tensor([0, 0]))",
        "{}.chunk(2, {})[0]", "{}.split(2, {})[-1]", "{0}.gather({1}, torch.zeros_like({0}).long())")
SHAPES = ("{}.reshape(-1)", "{}.t()", "{}.transpose(0, -1)", "{}.flatten()", "{}[..., 0]", "{}[0]", "{}[1:]", "{}[::2]", "{}[:, None]",
          "{}.expand_as({})", "{}.contiguous()", "{}.clone()", "{}.detach()", "{}.view(-1, 1)", "{}.float()", "{}.double()",
          "{}.to(torch.bfloat16)", "{}.int()", "{}.bool()", "{} @ {}.transpose(-1, -2)", "{}.repeat(2, 1)", "F.pad({}, (1, 0))",
          "{}.tril()", "{}.masked_fill({} > 0, -1.0)", "{}.clamp(-0.5, 0.5)", "{}.diagonal()", "{}.unfold(0, 2, 1)", "{}.movedim(0, -1)",
          "F.layer_norm({0}, {0}.shape[-1:])", "F.one_hot({}.argmax(-1))", "torch.tensor_split({}, 2)[0]", "{}.squeeze()")
IN_PLACE = ("{}.add_({})", "{}.mul_(2)", "{}[0] = 1.0", "{}[..., 0] += 1", "{}.zero_()", "{}.clamp_(min=0)", "{} += {}", "{} *= 0.5",
            "{}.copy_({})", "{}.fill_(0.5)", "{}[1:] = {}[:-1].clone()", "{}.relu_()", "{}.masked_fill_({} > 0, 0.0)", "{}.t_()")


class TorchPrograms:
    def __init__(self, seed):
        self.r = random.Random(seed)

    def tensor(self):
        return self.r.choice(self.names)

    def expression(self):
        r, a, b = self.r, self.tensor(), self.tensor()
        dim = r.choice((-1, 0, 1))
        return r.choice((
            lambda: f"{r.choice(('torch.', ''))}{r.choice(UNARY)}({a})" if r.random() < 0 else f"torch.{r.choice(UNARY)}({a})",
            lambda: f"({a} {r.choice(BINARY)} {r.choice((b, '2', '0.5', '-1', '3.0', 'n'))})",
            lambda: r.choice(CALLS).format(a, b),
            lambda: f"{a}.{r.choice(REDUCE)}({r.choice(('', str(dim), f'{dim}, keepdim=True'))})",
            lambda: r.choice(ROWS).format(a, dim),
            lambda: r.choice(SHAPES).format(a, b),
            lambda: f"({a} * {r.choice(('1.5', b))} + {b}).{r.choice(('sum', 'mean', 'amax'))}({dim}, keepdim=True)",
        ))()

    def statement(self, indent):
        r, pad = self.r, "    " * indent
        kind = r.random()
        if kind < 0.62 or indent > 3:
            name = r.choice("abcdefgh")
            line = [f"{pad}{name} = {self.expression()}"]
            if name not in self.names:
                self.names.append(name)
            return line
        if kind < 0.74:
            return [pad + r.choice(IN_PLACE).format(self.tensor(), self.tensor())]
        known = list(self.names)
        body = [line for _ in range(r.randrange(1, 3)) for line in self.statement(indent + 1)]
        self.names = known
        if kind < 0.82:
            return [f"{pad}for i in range({r.choice(('2', '3', 'n'))}):", *body]
        if kind < 0.90:
            test = r.choice((f"{self.tensor()}.sum() > 0", f"{self.tensor()}.dim() > 1", f"{self.tensor()}.shape[0] > 3", "n > 1", "flag",
                             f"{self.tensor()}.numel() % 2 == 0", f"isinstance({self.tensor()}, torch.Tensor)"))
            return [f"{pad}if {test}:", *body]
        if kind < 0.93:
            return [f"{pad}with torch.no_grad():", *body]
        if kind < 0.96:
            return [f"{pad}state['k'] = {self.tensor()}.sum()", f"{pad}rows.append({self.tensor()}.mean())"]
        return [f"{pad}try:", *body, f"{pad}except (RuntimeError, IndexError, ValueError, TypeError):", f"{pad}    pass"]

    def program(self):
        """The text; `f` is what is compiled."""
        r = self.r
        self.names = ["x", "y"]
        lines = [line for _ in range(r.randrange(2, 9)) for line in self.statement(1)]
        shape = r.choice(("4, 6", "3, 5", "1, 7", "8, 8", "2, 3, 4", "6", "5, 1", "16, 33"))
        grad = r.random() < 0.25
        options = r.choice(("", "", "dynamic=True, ", "fullgraph=True, "))
        text = ["import sys", "import torch", "import torch.nn.functional as F", "", "state, rows = {}, []", "", "",
                "def f(x, y, n=2, flag=True):", *lines, f"    return {self.tensor()}, {self.tensor()}", "", "",
                f"g = torch.compile(f, {options}backend=BACKEND)", "",
                "for k in range(3):",
                "    torch.manual_seed(k)",
                f"    x = torch.randn({shape})" + (".requires_grad_()" if grad else ""),
                f"    y = torch.randn({shape})" + (" if k < 2 else x * 2" if r.random() < 0.2 else ""),
                "    try:",
                "        out = g(x, y, 2 + k // 2, k != 1)"]
        if grad:
            text += ["        if out[0].dtype == torch.float32 and out[0].requires_grad:",
                     "            out[0].sum().backward()",
                     "            print('grad', x.grad is not None and x.grad.flatten().tolist())"]
        text += ["        for v in (*out, x, y):",
                 "            print(list(v.shape), str(v.dtype), v.detach().double().flatten().tolist()[:64])",
                 "    except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError) as e:",
                 "        print('left', type(e).__name__, e)"]
        return "\n".join(text) + "\n"

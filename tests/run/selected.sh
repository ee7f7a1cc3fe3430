#!/usr/bin/env bash
# What a workload makes of x[mask], beside the same by torch.where: all differences are 0, and so are their gradients.
set -euo pipefail

cat >"$TMP/selected.py" <<'END'
import torch
import torch.nn.functional as F


def ways(logits, labels, x, keep, w):
    """Pairs: by an index, by a choice."""
    pairs = []
    m = keep > 0
    n = m.sum()
    few = m.unsqueeze(-1)
    zeros = torch.zeros_like(x)
    each = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction='none').view(labels.shape)
    pairs.append((F.cross_entropy(logits[m], labels[m]), torch.where(m, each, 0).sum() / n))
    pairs.append((F.cross_entropy(logits[m], labels[m], reduction='sum'), torch.where(m, each, 0).sum()))
    pairs.append((x[m].mean(), torch.where(few, x, 0).sum() / (n * x.shape[-1])))
    pairs.append((x[m].sum(0), torch.where(few, x, 0).sum((0, 1))))
    pairs.append((x[m].amax(0), torch.where(few, x, float('-inf')).amax((0, 1))))
    pairs.append((x[m].min(), torch.where(few, x, float('inf')).min()))
    pairs.append((torch.softmax(x[m] @ w, -1).mean(0), torch.where(few, torch.softmax(x @ w, -1), 0).sum((0, 1)) / n))
    pairs.append((keep[m].log().mean(), torch.where(m, torch.where(m, keep, 1).log(), 0).sum() / n))
    mean = keep[m].mean()
    pairs.append((keep[m].var(), torch.where(m, (keep - mean) ** 2, 0).sum() / (n - 1)))
    y = x.clone()
    y[m] = (x[m] * 3)[:, :] + w[0, 0]
    y[~m] -= 1
    pairs.append((y, torch.where(few, x * 3 + w[0, 0], x - 1)))
    pairs.append((F.mse_loss(x[m], zeros[m]), torch.where(few, x * x, 0).sum() / (n * x.shape[-1])))
    pairs.append((labels[m].min() + labels[m].max() * 0.0, torch.where(m, labels, 99).min() * 1.0))
    pairs.append((torch.masked_select(keep, m).std(), keep[m].var().sqrt()))
    pairs.append((F.l1_loss(x[m], torch.zeros_like(x[m]), reduction='sum'), torch.where(few, x.abs(), 0).sum()))
    z = x[m]
    z[:, 0] = 3
    z[..., -1] += w[0, 0]
    z[:, 1].mul_(2)
    y = torch.zeros_like(x)
    y[m] = z * z.shape[-1] + z.size(1)
    z = torch.cat([torch.full_like(x[..., :1], 3), x[..., 1:2] * 2, x[..., 2:4], x[..., 4:] + w[0, 0]], -1)
    pairs.append((y, torch.where(few, z * 5 + 5, 0)))
    return pairs


def assigned(x, keep, w):
    """The same with other parts beside the mask, and what is one number wherever it stands."""
    pairs = []
    m, rows, last, one = keep > 0, keep[:, 0] > 0, x[0, 0] > 0, (keep > 9).long().sum()
    places = torch.tensor([2, 0, 1])
    for part, value, whole in [
            ((slice(None), keep[0] > 0), 2, (keep[0] > 0).view(1, 7, 1)), ((..., last), 3, last),
            ((None, rows), w[0], rows.view(6, 1, 1)), ((rows, None), w[0, 0], rows.view(6, 1, 1)), ((m,), w[1], m.unsqueeze(-1))]:
        y, z = x * 1, torch.where(whole, torch.as_tensor(value, dtype=x.dtype), x)
        y[part] = value
        pairs.append((y, z))
    y, z = x * 1, x * 1
    y[1, keep[1] > 0] = w[:1]
    z[1] = torch.where(keep[1].unsqueeze(-1) > 0, w[0], x[1])
    pairs.append((y, z))
    y, z = x * 1, x * 1
    y[:, 1:4, 2][keep[:, 1:4] > 0] = 0
    y[rows, 5, 1:3] = w[0, :2]
    y[m, 4] *= 2
    z[:, 1:4, 2] = z[:, 1:4, 2].masked_fill(keep[:, 1:4] > 0, 0)
    z[:, 5, 1:3] = torch.where(rows.unsqueeze(-1), w[0, :2], z[:, 5, 1:3])
    z[..., 4] = torch.where(m, z[..., 4] * 2, z[..., 4])
    pairs.append((y, z))
    pairs.append((x[one, :, places[:2]], x[0][:, [2, 0]]))
    pairs.append((x[places, ..., one], x[[2, 0, 1], :, 0]))
    pairs.append((x[one, None, places], x[0, None, [2, 0, 1]]))
    y, z = x * 1, x * 1
    y[one + 1, :, places] = w[:, :3].mean()
    z[1, :, :3] = w[:, :3].mean()
    pairs.append((y, z))
    return pairs


def forward(logits, labels, x, keep, w):
    return [a - b for a, b in ways(logits, labels, x, keep, w) + assigned(x, keep, w)]


def get_inputs():
    return [torch.randn(6, 7, 9), torch.randint(0, 9, (6, 7)), torch.randn(6, 7, 5), torch.randn(6, 7), torch.randn(5, 5)]
END

for mode in fwd train; do
    "$WARPSMITH" run "$TMP/selected.py" --device cpu --mode $mode >"$TMP/out" 2>&1 </dev/null || {
        echo "mode $mode: expected it to run, got:"
        cat "$TMP/out"
        exit 1
    }
    awk -v mode=$mode '
        /^out[0-9]+ / {
            n++
            for (i = 1; i <= NF; i++)
                if ($i == "min" || $i == "max") worst = ($(i + 1) < 0 ? -$(i + 1) : $(i + 1)) + 0 > worst ? ($(i + 1) < 0 ? -$(i + 1) : $(i + 1)) + 0 : worst
            if (/nan|inf/) bad = 1
        }
        END {
            if (n < 25 || bad || worst > 1e-5) {
                print "mode " mode ": " n " outputs, the largest " worst "; 0 expected"
                exit 1
            }
        }' "$TMP/out" || {
        cat "$TMP/out"
        exit 1
    }
done

# A view of what is picked sees what is done to it afterwards; this one would not.
printf 'import torch\n\n\ndef forward(x):\n    y = x[x[:, 0] > 0]\n    first = y[:, 0]\n    y += 1\n    return first.sum()\n\n\ndef get_inputs():\n    return [torch.randn(4, 3)]\n' >"$TMP/stale.py"
"$WARPSMITH" run "$TMP/stale.py" --device cpu --check >"$TMP/out" 2>&1 </dev/null && { echo "a stale view: expected a graph break"; exit 1; }
grep -q 'graph break: data-dependent shape of an index by a mask at line 8' "$TMP/out" || { cat "$TMP/out"; exit 1; }

"""What workloads/attention/attention_variant.py says, by PyTorch's flex_attention: scripts/torch_peer.py --ways flex."""


def program(torch, stem, model, axes, device):
    """A function of q, k and v. The blocks that a mask leaves are found here, once, as users of flex_attention do it."""
    if stem != "attention_variant":
        raise ValueError(f"no program of flex_attention is written for {stem}")
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    back = axes["keys"] - axes["queries"]
    document, slopes, mask = (getattr(model, name, None) for name in ("document", "slopes", "mask"))

    def seen(_, __, i, j):
        if axes["masked"]:
            return mask[i, j]
        if axes["documents"]:
            same = document[i + back] == document[j]
            return same & (j <= i + back) if axes["causal"] else same
        if axes["window"]:
            return (j <= i + back) & (i + back - j < axes["window"])
        return j <= i + back

    def changed(score, _, head, i, j):
        if axes["cap"]:
            score = axes["cap"] * torch.tanh(score / axes["cap"])
        if axes["alibi"]:
            score = score + slopes[head] * (j - i - back)
        return score

    some = any(axes[name] for name in ("causal", "window", "documents", "masked"))
    blocks = create_block_mask(seen, None, None, axes["queries"], axes["keys"], device=device) if some else None
    score = changed if axes["cap"] or axes["alibi"] else None
    grouped = axes["kv_heads"] != axes["heads"]
    return lambda q, k, v: flex_attention(q, k, v, score_mod=score, block_mask=blocks, enable_gqa=grouped)

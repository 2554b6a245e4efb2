"""Attention over sequences that lie side by side in one row without padding. Each sequence sees only itself."""

import inspect
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import AttentionInterface

try:
    from torch.nn.attention.varlen import varlen_attn
except ImportError:  # older versions of torch lack it
    varlen_attn = None

NAME = "skein_packed"


class Bounds:
    """The bounds of the sequences in the current row. A row runs forwards and backwards before the next one."""

    def __init__(self) -> None:
        self.ends: list[int] = []
        self.offsets: Tensor | None = None
        self.has_varlen = False

    def set(self, lengths: list[int], device: torch.device) -> None:
        offsets = [0]
        for length in lengths:
            offsets.append(offsets[-1] + length)
        self.ends = offsets
        self.longest = max(lengths)
        self.offsets = torch.tensor(offsets, dtype=torch.int32, device=device)


BOUNDS = Bounds()


def packed_attention(  # noqa: PLR0913, PLR0917  as transformers calls it
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    window = kwargs.get("sliding_window") or getattr(module, "sliding_window", None)
    if window and BOUNDS.longest > window:
        raise ValueError(f"sequences are longer than the sliding window of {window} tokens")
    if BOUNDS.has_varlen:
        return by_kernel(query, key, value, scaling), None
    return by_sequence(query, key, value, scaling), None


def by_sequence(query: Tensor, key: Tensor, value: Tensor, scaling: float | None) -> Tensor:
    rows = [
        F.scaled_dot_product_attention(
            query[:, :, start:end],
            key[:, :, start:end],
            value[:, :, start:end],
            is_causal=True,
            scale=scaling,
            enable_gqa=query.shape[1] != key.shape[1],
        )
        for start, end in zip(BOUNDS.ends, BOUNDS.ends[1:], strict=False)
    ]
    return torch.cat(rows, dim=2).transpose(1, 2).contiguous()


def by_kernel(query: Tensor, key: Tensor, value: Tensor, scaling: float | None) -> Tensor:
    """Computes all sequences with one kernel. Its options have different names in different versions of torch."""
    assert varlen_attn is not None
    options: dict[str, Any] = {"scale": scaling} if "scale" in VARLEN else {}
    if "is_causal" in VARLEN:
        options["is_causal"] = True
    else:
        options["window_size"] = (-1, 0)
    groups = query.shape[1] // key.shape[1]
    if groups > 1 and "enable_gqa" in VARLEN:
        options["enable_gqa"] = True
    elif groups > 1:
        key, value = (each.repeat_interleave(groups, dim=1) for each in (key, value))
    q, k, v = (each[0].transpose(0, 1).contiguous() for each in (query, key, value))
    offsets, longest = BOUNDS.offsets, BOUNDS.longest
    return varlen_attn(q, k, v, offsets, offsets, longest, longest, **options).unsqueeze(0)  # pyright: ignore[reportAttributeAccessIssue, reportArgumentType]


VARLEN = set(inspect.signature(varlen_attn).parameters) if varlen_attn else set[str]()


def choose_kernel(device: torch.device, dtype: torch.dtype, heads: tuple[int, int, int]) -> str:
    """Selects the kernel when its results and gradients equal those of the loop over sequences."""
    BOUNDS.has_varlen = False
    if not varlen_attn or device.type != "cuda" or dtype == torch.float32:
        return "sdpa"
    try:
        query_heads, key_heads, size = heads
        BOUNDS.set([37, 91], device)
        shapes = [(1, query_heads, 128, size)] + [(1, key_heads, 128, size)] * 2
        drawn = [torch.randn(shape, device=device, dtype=dtype) for shape in shapes]
        results: list[list[Tensor]] = []
        for attend in (by_sequence, by_kernel):
            inputs = [each.clone().requires_grad_() for each in drawn]
            out = attend(inputs[0], inputs[1], inputs[2], size**-0.5)
            (out.float() ** 2).sum().backward()
            results.append([out] + [each.grad for each in inputs if each.grad is not None])
        if all(torch.allclose(a.float(), b.float(), rtol=0.1, atol=0.1) for a, b in zip(*results, strict=True)):
            BOUNDS.has_varlen = True
    except Exception as error:  # the device or this torch lacks the kernel
        print(f"attention by sequence: {error}")
    return "varlen" if BOUNDS.has_varlen else "sdpa"


AttentionInterface.register(NAME, packed_attention)

"""The processes that train together under torchrun. Only rank 0 communicates with Skein."""

from __future__ import annotations

import os
from datetime import timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from torch import Tensor


class Ranks:
    """The group of the training processes. A single process needs no torch, because an engine may do without it."""

    def __init__(self, device: torch.device | None = None):
        self.size = int(os.environ.get("WORLD_SIZE", "1"))
        self.rank = int(os.environ.get("RANK", "0"))
        self.device = device
        self.dist: Any = import_module("torch.distributed") if self.size > 1 else None
        if self.dist:
            # the others wait while rank 0 waits for a job, or sends a checkpoint
            backend = "nccl" if device and device.type == "cuda" else "gloo"
            self.dist.init_process_group(backend, timeout=timedelta(hours=24))

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def share(self, value: Any) -> Any:
        """Returns the value of rank 0 on every rank."""
        if self.size == 1:
            return value
        box = [value]
        self.dist.broadcast_object_list(box, src=0, device=self.device)
        return box[0]

    def add(self, tensors: list[Tensor]) -> None:
        """Replaces each tensor by its sum over all ranks."""
        if self.size == 1 or not tensors:
            return
        flat = import_module("torch").cat([tensor.reshape(-1) for tensor in tensors])
        self.dist.all_reduce(flat)
        for tensor, part in zip(tensors, flat.split([tensor.numel() for tensor in tensors]), strict=True):
            tensor.copy_(part.view_as(tensor))

    def end(self) -> None:
        if self.dist:
            self.dist.destroy_process_group()

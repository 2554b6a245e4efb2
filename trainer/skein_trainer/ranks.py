"""The processes that train together under torchrun. Rank 0 alone speaks with Skein."""

import os
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


class Ranks:
    def __init__(self, device: torch.device):
        self.size = int(os.environ.get("WORLD_SIZE", "1"))
        self.rank = int(os.environ.get("RANK", "0"))
        self.device = device
        if self.size > 1:
            # the others wait while rank 0 waits for a job, or sends a checkpoint
            backend = "nccl" if device.type == "cuda" else "gloo"
            dist.init_process_group(backend, timeout=timedelta(hours=24))

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def share(self, value: Any) -> Any:
        """What rank 0 has."""
        if self.size == 1:
            return value
        box = [value]
        dist.broadcast_object_list(box, src=0, device=self.device)
        return box[0]

    def add(self, tensors: list[Tensor]) -> None:
        """Each becomes the sum over all ranks."""
        if self.size == 1 or not tensors:
            return
        flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
        dist.all_reduce(flat)
        for tensor, part in zip(tensors, flat.split([tensor.numel() for tensor in tensors]), strict=True):
            tensor.copy_(part.view_as(tensor))

    def end(self) -> None:
        if self.size > 1:
            dist.destroy_process_group()

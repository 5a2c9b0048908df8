"""Queues by GPU-seconds used whose order can change: classes of width, and when the order is made anew."""

from __future__ import annotations

import numpy as np

from dlsched.domain.workload import Floats, Ints

NUM_WIDTHS = 16
"""Classes of width: up to 1, 2, 4, ... 16,384 GPUs, and more."""
NEARLY = 1 + 1e-9
"""Sums of times differ in their last bits: GPU-seconds up to this factor above a threshold count as below it."""


def width_class(gpus: Floats) -> Ints:
    """Return the class of each width: 0 = up to 1 GPU, 1 = up to 2, 2 = up to 4, ..."""
    return np.clip(np.ceil(np.log2(np.maximum(gpus, 1.0))), 0, NUM_WIDTHS - 1).astype(np.int64)


def next_learning(num_learnt: int) -> int:
    """Return after how many jobs ranks are made anew that come from so many: a tenth more, at least one."""
    return num_learnt + max(1, num_learnt // 10)

"""From the layers of a model to the seconds of a training step with parameter servers (SMD, Eqs. 4 and 5)."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from dlsched.domain.workload import Floats

Number = TypeVar("Number", float, Floats)

MB_PER_S_IN_GBPS = 125.0


def transfer_seconds(model_mb: Number, gbps: Number, transfer_share: Number) -> Number:
    """Return the seconds that a step waits for pushing and pulling a model (2 g/B) with one worker and one server.

    ``model_mb`` in MB, ``gbps`` the bandwidth of a server in Gbit/s, ``transfer_share`` eta3: the share of transfers
    that no computation hides.
    """
    return 2 * transfer_share * model_mb / (gbps * MB_PER_S_IN_GBPS)


def step_columns(
    *,
    synchronous: bool,
    forward_s: Number,
    backward_s: Number,
    transfer_s: Number,
    senders_share: Number,
    worker_overhead_s: Number,
    server_overhead_s: Number,
) -> dict[str, Number]:
    """Return the terms of a step by column (:mod:`dlsched.speed.parameter_server`), in seconds.

    ``forward_s`` is of all samples of a step: of the whole batch where workers are synchronous and share it (eta1 K
    t_f), of a worker's mini-batch where not (eta1 m t_f). ``backward_s`` (eta2 t_b) does not depend on the samples.
    ``transfer_s`` as :func:`transfer_seconds`; of asynchronous workers only ``senders_share`` (alpha) send at once.
    """
    nothing = np.zeros_like(forward_s) if isinstance(forward_s, np.ndarray) else 0.0
    return {
        "batch_s": forward_s if synchronous else nothing,
        "step_s": backward_s if synchronous else backward_s + forward_s,
        "transfer_s": transfer_s if synchronous else transfer_s * senders_share,
        "worker_overhead_s": worker_overhead_s,
        "server_overhead_s": server_overhead_s,
    }

"""From layers to the seconds of a step: Eqs. 4 and 5 by hand, alike for one job and for arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dlsched.speed.layered_step import step_columns, transfer_seconds


def test_a_model_goes_both_ways_over_a_server_s_link():
    # 500 MB at 10 Gbit/s = 1,250 MB/s: 0.4 s each way; a quarter of both is hidden by nothing
    assert transfer_seconds(500.0, 10.0, 1.0) == pytest.approx(0.8)
    assert transfer_seconds(500.0, 10.0, 0.25) == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("synchronous", "expected"),
    [
        (True, {"batch_s": 6.0, "step_s": 2.0, "transfer_s": 0.8}),
        (False, {"batch_s": 0.0, "step_s": 8.0, "transfer_s": 0.2}),
    ],
)
def test_terms_by_hand(synchronous, expected):
    parts: dict[str, Any] = {
        "forward_s": 6.0, "backward_s": 2.0, "transfer_s": 0.8, "senders_share": 0.25,
        "worker_overhead_s": 3.0, "server_overhead_s": 0.01,
    }  # fmt: skip
    expected = expected | {"worker_overhead_s": 3.0, "server_overhead_s": 0.01}
    assert step_columns(synchronous=synchronous, **parts) == pytest.approx(expected)
    arrays: dict[str, Any] = {name: np.array([value, 2 * value]) for name, value in parts.items()}
    many = step_columns(synchronous=synchronous, **arrays)
    assert {name: values[0] for name, values in many.items()} == pytest.approx(expected)
    assert {name: values.shape for name, values in many.items()} == dict.fromkeys(expected, (2,))

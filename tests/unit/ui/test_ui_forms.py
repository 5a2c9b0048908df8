"""Labels of generated forms: words and units, no key names."""

import pytest
from pydantic import Field

from dlsched.domain.model import FrozenModel
from dlsched.ui.frame.forms import label_of


class Model(FrozenModel):
    """Fields as policies and options have them."""

    restart_s: float = 0.0
    rejection_usd: float = 0.0
    usd_per_h: float = 0.0
    thresholds_gpu_s: tuple[float, ...] = Field((1.0,), json_schema_extra={"unit": "GPU-s"})
    quantum_s: float = Field(60.0, json_schema_extra={"unit": "s"})
    vm_type: str = ""
    bug_share: float = 0.0
    estimate_error: float = 0.0
    horizon: float = Field(1.0, title="Look-ahead")


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("restart_s", "Restart (s)"),
        ("rejection_usd", "Rejection ($)"),
        ("thresholds_gpu_s", "Thresholds (GPU-s)"),
        ("quantum_s", "Quantum (s)"),
        ("vm_type", "VM type"),
        ("bug_share", "Bug share (%)"),
        ("estimate_error", "Estimate error (%)"),
        ("horizon", "Look-ahead"),
    ],
)
def test_labels(name, label):
    assert label_of(name, Model.model_fields[name]) == label

"""What if: the scenario as it is against the scenario with changes, on the same draws."""

from dlsched.studies.what_if.estimate import guess_s
from dlsched.studies.what_if.link import LINK_PARAMS, read_link, written_link
from dlsched.studies.what_if.run import run_what_if
from dlsched.studies.what_if.spec import DRAWS, WhatIfSpec, check, default_draws, is_exact, moved, read_spec, unchanged

__all__ = [
    "DRAWS",
    "LINK_PARAMS",
    "WhatIfSpec",
    "check",
    "default_draws",
    "guess_s",
    "is_exact",
    "moved",
    "read_link",
    "read_spec",
    "run_what_if",
    "unchanged",
    "written_link",
]

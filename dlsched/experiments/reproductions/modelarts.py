"""Figures of the ModelArts study that show something computed; Figs 1 to 3 are pictures of the system."""

from __future__ import annotations

from dlsched.experiments.reproductions.modelarts_examples import EXAMPLES
from dlsched.experiments.reproductions.modelarts_gain import GAIN
from dlsched.experiments.reproductions.modelarts_robust import ROBUST

MODELARTS = (*EXAMPLES, *GAIN, *ROBUST)

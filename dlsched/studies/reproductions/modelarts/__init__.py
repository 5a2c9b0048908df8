"""Figures of the ModelArts study that show something computed; Figs 1 to 3 are pictures of the system."""

from __future__ import annotations

from dlsched.studies.reproductions.modelarts.examples import EXAMPLES
from dlsched.studies.reproductions.modelarts.gain import GAIN
from dlsched.studies.reproductions.modelarts.robust import ROBUST

MODELARTS = (*EXAMPLES, *GAIN, *ROBUST)

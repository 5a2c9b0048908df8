"""Figures of the PD-ORS study that show something measured.

Figs 1 to 4 are drawings, and Fig. 5 is the curve of a formula, when the promise of Lemma 1 is not empty.
"""

from __future__ import annotations

from dlsched.experiments.reproductions.pd_ors_gain import GAIN
from dlsched.experiments.reproductions.pd_ors_ratio import RATIO
from dlsched.experiments.reproductions.pd_ors_time import TIME
from dlsched.experiments.reproductions.pd_ors_utility import UTILITY, UTILITY_OF_TRACE

PD_ORS = (*UTILITY, *TIME, *RATIO, *UTILITY_OF_TRACE, *GAIN)

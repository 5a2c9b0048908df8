"""Figures of the PD-ORS study that show numbers; Figs 1 to 4 are drawings."""

from __future__ import annotations

from dlsched.experiments.reproductions.pd_ors_gain import GAIN
from dlsched.experiments.reproductions.pd_ors_promise import PROMISE
from dlsched.experiments.reproductions.pd_ors_ratio import RATIO
from dlsched.experiments.reproductions.pd_ors_time import TIME
from dlsched.experiments.reproductions.pd_ors_utility import UTILITY, UTILITY_OF_TRACE

PD_ORS = (*PROMISE, *UTILITY, *TIME, *RATIO, *UTILITY_OF_TRACE, *GAIN)

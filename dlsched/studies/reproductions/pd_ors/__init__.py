"""Figures of the PD-ORS study that show numbers; Figs 1 to 4 are drawings."""

from __future__ import annotations

from dlsched.studies.reproductions.pd_ors.promise import PROMISE
from dlsched.studies.reproductions.pd_ors.ratio import RATIO
from dlsched.studies.reproductions.pd_ors.time import TIME
from dlsched.studies.reproductions.pd_ors.utility import GAIN, UTILITY, UTILITY_OF_TRACE

PD_ORS = (*PROMISE, *UTILITY, *TIME, *RATIO, *UTILITY_OF_TRACE, *GAIN)

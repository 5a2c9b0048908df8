"""Figures of the SMD study that show something computed; Figs 1 to 6 are drawings of the system and its layers."""

from __future__ import annotations

from dlsched.experiments.reproductions.smd_ratio import RATIO
from dlsched.experiments.reproductions.smd_used import USED
from dlsched.experiments.reproductions.smd_utility import UTILITY

SMD = (*UTILITY, *RATIO, *USED)

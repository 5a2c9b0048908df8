"""Figures of the SMD study that show something computed; Figs 1 to 6 are drawings of the system and its layers."""

from __future__ import annotations

from dlsched.studies.reproductions.smd.ratio import RATIO
from dlsched.studies.reproductions.smd.used import USED
from dlsched.studies.reproductions.smd.utility import UTILITY

SMD = (*UTILITY, *RATIO, *USED)

"""Placement rules: a width in, nodes out, tried on a copy of the free resources."""

from dlsched.placement.fit import can_ever_fit, largest_width
from dlsched.placement.site import Site
from dlsched.placement.trial import TrialPlacer

__all__ = ["Site", "TrialPlacer", "can_ever_fit", "largest_width"]

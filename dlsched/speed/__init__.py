"""Speed models: an allocation in, work per second out."""

from dlsched.speed.model import SpeedModel, build_speed

__all__ = ["SpeedModel", "build_speed"]

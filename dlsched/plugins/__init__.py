"""Code from outside this package: where it is found, where it comes from, and what changes its answers."""

from dlsched.plugins.catalogue import Catalogue, Needed, Problem, expect, needed, with_plugins
from dlsched.plugins.loading import VARIABLE
from dlsched.plugins.origin import Origin

__all__ = ["VARIABLE", "Catalogue", "Needed", "Origin", "Problem", "expect", "needed", "with_plugins"]

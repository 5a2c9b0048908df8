"""The cheapest cluster that meets targets: question, search, answer."""

from dlsched.studies.sizing.run import check, run_size
from dlsched.studies.sizing.sizes import default_types, sizes_of
from dlsched.studies.sizing.spec import SizeSpec, TypeRange, read_spec
from dlsched.studies.sizing.trials import usual_runs

__all__ = ["SizeSpec", "TypeRange", "check", "default_types", "read_spec", "run_size", "sizes_of", "usual_runs"]

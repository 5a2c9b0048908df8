"""``merge``: the parts of a sweep put together, told as ``sweep`` tells it."""

from __future__ import annotations

from argparse import Namespace

from dlsched.cli.study_command import kept
from dlsched.cli.sweep import told
from dlsched.domain.errors import InputError
from dlsched.runner.dask_worker import identity
from dlsched.studies.sweep.answer import rows_of
from dlsched.studies.sweep.parts import merged, read_part


def run(options: Namespace) -> int:
    """Carry out the command; 1 when a run failed or the audit found a violation."""
    files = list(dict.fromkeys(options.files))
    if len(files) < len(options.files):
        twice = next(file for file in files if options.files.count(file) > 1)
        raise InputError(f"file {twice}", "is named twice", "Name it once")
    parts = {file: read_part(file) for file in files}
    with kept(options) as store:
        swept = merged(parts, identity(), store)
    scenario = parts[files[0]].scenario
    return told(swept, scenario, options, swept.answer.to_plain(), lambda: rows_of(swept.answer))

"""``new-policy``: a small project with a policy of one's own, its test and its entry point."""

from __future__ import annotations

import keyword
import re
import sys
from argparse import Namespace
from pathlib import Path
from string import Template

import dlsched
from dlsched.domain.errors import InputError

PYPROJECT = Template("""\
[project]
name = "$project"
version = "0.1.0"
description = "A scheduling policy for dlsched."
requires-python = ">=3.11"
dependencies = ["dlsched>=$version"]

[project.optional-dependencies]
test = ["pytest"]

[project.entry-points."dlsched.policies"]
$project = "$name:SPEC"

[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[tool.hatch.build.targets.wheel]
only-include = ["$name.py"]

[tool.pytest.ini_options]
testpaths = ["tests"]
pythonpath = ["."]
""")
MODULE = Template('''\
"""$label: the shortest job first, and the longer a job waits, the shorter it counts."""

import numpy as np
from pydantic import Field

from dlsched.domain.model import FrozenModel
from dlsched.domain.plan import Plan, WaitReason, run_on
from dlsched.domain.policy import Need, PolicySpec, ReviewRule


class Params(FrozenModel):
    """What a user may set: with --param on the command line, and in the form of the app."""

    age_s: float = Field(
        3600.0,
        gt=0,
        description="Wait after which a job counts as half as long.",
        json_schema_extra={"unit": "s"},
    )


class ShortestFirst:
    """Made anew for each run."""

    review = ReviewRule()  # asked whenever a job arrives or ends and a node goes or comes
    kernel_rule = None  # no compiled loop of dlsched stands in for it

    def __init__(self, params):
        self.params = params

    def plan(self, state):
        """Return which waiting jobs start now. ``state`` shows what a scheduler may know at ``state.now_s``."""
        rows = state.waiting  # numbers of jobs: rows of state.jobs
        workers = state.requested(rows)
        run_s = state.remaining(rows) / state.rate(rows, workers)  # as believed, not as it turns out
        waited_s = state.now_s - state.jobs.submit_s[rows]
        counts_as_s = run_s / (1 + waited_s / self.params.age_s)

        placer = state.placer()  # a trial copy of what is free: changes here change nothing else
        starts, left = {}, []
        for place in np.argsort(counts_as_s, kind="stable"):  # ties in order of submission
            row = int(rows[place])
            shares = placer.place(row, int(workers[place]))
            if shares:
                starts[row] = run_on(shares)
            else:
                left.append(row)
        reasons = np.array(sorted(left), dtype=int), np.full(len(left), int(WaitReason.NO_ROOM))
        return Plan(starts, reasons=reasons)


SPEC = PolicySpec(
    key="$project",
    label="$label",
    family="From outside",
    summary="Starts the job that counts as the shortest; waiting makes a job count as shorter.",
    build=ShortestFirst,
    params=Params,
    needs=frozenset({Need.FIXED_NODES}),  # it opens no rented machines
    knows="run-time estimates",
    uses_run_times=True,
)
''')
TEST = Template('''\
"""The policy passes the suite that every policy of dlsched passes, and does what it says."""

import numpy as np
from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Workload
from dlsched.studies.simulation import simulate
from dlsched.testing import check_policy
from $name import SPEC


def test_the_policy_passes_the_suite():
    check_policy(SPEC).raise_for_failures()


def test_the_short_job_goes_first():
    jobs = {"job_id": ["runs", "long", "short"], "submit_s": [0, 1, 2], "work": [100, 900, 50], "workers": [8, 8, 8]}
    one_node = Cluster(pools=(Pool(vm=VmType(name="node", gpus=8), count=1),))
    run = simulate(Scenario(Workload.from_columns(jobs), one_node), SPEC)
    assert run.audit() == []
    np.testing.assert_allclose(run.jobs.first_start_s, [0, 150, 100])
''')
JOBS = """\
job_id,submit_s,run_time_s,gpus
1,0,7200,8
2,300,3600,4
3,600,600,8
4,900,14400,16
5,1200,1800,2
6,1500,900,8
7,1800,5400,4
8,2400,300,1
9,3000,7200,16
10,3600,1200,8
"""
README = Template("""\
# $label

A scheduling policy for dlsched, in `$name.py`. In this folder:

    dlsched simulate jobs.csv --nodes 2 --gpus-per-node 8 --policy $name:SPEC
    python -m pytest
    pip install -e . && dlsched policies $project

After the third, the app and every command know it as `$project`.
""")


def run(options: Namespace) -> int:
    """Carry out the command."""
    folder = write_project(options.name, Path(options.folder))
    print(f"wrote {folder}: {', '.join(sorted(one.relative_to(folder).as_posix() for one in _files(folder)))}")
    print(f"try it: cd {folder} && dlsched simulate jobs.csv --nodes 2 --gpus-per-node 8 --policy {options.name}:SPEC")
    return 0


def write_project(name: str, parent: Path) -> Path:
    """Write the project and return its folder.

    Raises
    ------
    InputError
        If the name cannot be that of a module, the folder is there already, or it cannot be written.
    """
    what = f"policy name {name[:80]!r}"
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,49}", name) or keyword.iskeyword(name):
        why = "must start with a small letter and have only small letters, digits and _, at most 50"
        raise InputError(what, why, "Write it as in my_policy")
    if name in sys.stdlib_module_names or name in ("dlsched", "tests", "numpy", "pydantic", "pytest"):
        raise InputError(what, "is the name of another module", "Choose another one")
    folder = parent / name
    project = name.strip("_").replace("_", "-")
    values = {"name": name, "project": re.sub("-+", "-", project), "version": dlsched.__version__,
              "label": name.strip("_").replace("_", " ").capitalize()}  # fmt: skip
    texts = {
        "pyproject.toml": PYPROJECT.substitute(values),
        f"{name}.py": MODULE.substitute(values),
        f"tests/test_{name}.py": TEST.substitute(values),
        "README.md": README.substitute(values),
        "jobs.csv": JOBS,
    }
    try:
        folder.mkdir(parents=True)
        (folder / "tests").mkdir()
        for path, text in texts.items():
            (folder / path).write_text(text, encoding="utf-8")
    except FileExistsError:
        raise InputError(f"folder {folder}", "is there already", "Choose another name, or another --folder") from None
    except OSError as error:
        raise InputError(
            f"folder {folder}", f"cannot be written: {error.strerror}", "Choose another --folder"
        ) from None
    return folder


def _files(folder: Path) -> list[Path]:
    return [one for one in folder.rglob("*") if one.is_file()]

from __future__ import annotations

import pytest

from dlsched import policies
from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.policy import Need
from dlsched.policies.registry import POLICIES, find, unmet_needs
from tests.support.sim_fakes import jobs, nodes, scenario

EVERYDAY = ["fifo", "easy-backfill", "conservative", "sjf", "las", "fifo-skip", "srtf", "dlas"]
EVERYDAY += ["gittins", "edf", "priority", "drf", "themis", "slurm"]


def test_the_stable_keys_are_there():
    assert [spec.key for spec in policies() if spec.family == "everyday"] == EVERYDAY
    assert policies()[: len(POLICIES)] == POLICIES


@pytest.mark.parametrize(("asked", "near"), [("fifo_skip", "'fifo-skip'"), ("SRTF", "'srtf'"), ("easy", "Known:")])
def test_an_unknown_key_names_near_ones(asked: str, near: str):
    with pytest.raises(InputError, match=near):
        find(asked)


def test_needs_look_at_the_columns():
    given = scenario(jobs((0, 1, 1), (1, 1, 1)))
    assert unmet_needs(find("fifo"), given) == ()
    assert unmet_needs(find("edf"), given) == (Need.DUE,)
    empty = given.replace(workload=given.workload.with_columns(due_s=[float("nan")] * 2))
    assert unmet_needs(find("edf"), empty) == (Need.DUE,)
    one = given.replace(workload=given.workload.with_columns(due_s=[float("nan"), 5.0]))
    assert unmet_needs(find("edf"), one) == ()


def test_prices_are_met_only_when_every_type_has_one():
    spec = find("fifo")
    priced = spec.__class__(**{f: getattr(spec, f) for f in spec.__slots__} | {"needs": frozenset({Need.PRICE})})
    assert unmet_needs(priced, scenario(jobs((0, 1, 1)))) == (Need.PRICE,)
    assert unmet_needs(priced, scenario(jobs((0, 1, 1)), nodes(usd_per_h=2.0))) == ()


def test_thresholds_from_text_and_their_rules():
    spec = find("dlas")
    assert [held / 3600 for held in spec.parse({}).model_dump()["thresholds_gpu_s"]] == [0.5, 2, 8, 32, 128, 512, 2048]
    assert spec.parse({"thresholds_gpu_s": "3600, 7200"}) == spec.parse({"thresholds_gpu_s": [3600, 7200]})
    assert spec.parse({"thresholds_gpu_s": 60}) == spec.parse({"thresholds_gpu_s": (60.0,)})
    for bad in ("7200, 3600", "0", "", "a", ()):
        with pytest.raises(InputError, match="thresholds_gpu_s"):
            spec.parse({"thresholds_gpu_s": bad})


@pytest.mark.parametrize(
    ("types", "widths", "met"),
    [
        pytest.param(("large", "small"), (8, 1), True, id="each on a machine it accepts"),
        pytest.param(("small", "large"), (2, 8), False, id="the first accepts only machines of 1 GPU"),
        pytest.param(("elsewhere", "large"), (8, 8), True, id="no machine at all: it is left out before the run"),
        pytest.param(("empty", "large"), (2, 8), True, id="a pool without nodes is no machine"),
    ],
)
def test_every_job_must_fit_one_machine_of_those_it_accepts(types, widths, met):
    kinds = {"large": (8, 1), "small": (1, 4), "empty": (4, 0)}
    cluster = Cluster(
        pools=tuple(
            Pool(vm=VmType(name=name, gpu_type=name, gpus=gpus, usd_per_h=1.0), count=count)
            for name, (gpus, count) in kinds.items()
        )
    )
    due = {"due_s": [9.0, 9.0], "weight_usd_per_s": [1.0, 1.0]}
    given = scenario(jobs(*((0, 1, width) for width in widths), gpu_types=list(types), **due), cluster)
    assert unmet_needs(find("gpuaas-greedy"), given) == (() if met else (Need.ONE_NODE,))

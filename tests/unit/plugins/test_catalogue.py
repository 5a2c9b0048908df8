"""What is found, refused and named: in this process, with packages made for the test."""

from __future__ import annotations

import dataclasses
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import dlsched
from dlsched.cli.main import main
from dlsched.domain.errors import InputError, PlanError
from dlsched.domain.plan import Plan, Step, run_on
from dlsched.plugins import VARIABLE, Needed, expect, loading, needed, with_plugins
from dlsched.plugins.catalogue import CATALOGUES
from dlsched.policies import registry
from dlsched.studies.code_version import is_older, version_of
from dlsched.studies.design import VariantTask
from tests.support.plugin_package import MODULE, installed, write_distribution, write_package
from tests.support.runs_for_store import small_scenario


@pytest.fixture(autouse=True)
def without_plugins(monkeypatch: pytest.MonkeyPatch):
    """Leave no plug-in behind, and none of the machine in."""
    monkeypatch.delenv(VARIABLE, raising=False)
    for catalogue in CATALOGUES:
        catalogue.forget()
    yield
    for catalogue in CATALOGUES:
        catalogue.forget()


class Greedy:
    """Starts whatever fits."""

    def __init__(self, most: int = 9) -> None:
        self.most, self.asked = most, 0

    def plan(self, state):
        self.asked += 1
        placer, starts = state.placer(), dict[int, Any]()
        for row, workers in zip(state.waiting.tolist(), state.requested(state.waiting).tolist(), strict=True):
            if len(starts) < self.most and (shares := placer.place(row, workers)):
                starts[row] = run_on(shares)
        return Plan(starts)


plan_of: Any = Plan
step_of: Any = Step
"""Take what no policy should answer."""


# ---- objects -----------------------------------------------------------------------------------------


def test_an_object_runs_under_the_name_of_its_class_each_time_as_it_was_given() -> None:
    scenario, policy = small_scenario(6), Greedy()
    first, second = dlsched.simulate(scenario, policy), dlsched.simulate(scenario, policy)
    assert (first.policy, first.plugin.split(" ")[0]) == ("greedy", __name__)
    assert first.audit() == []
    assert policy.asked == 0
    assert first.key == second.key
    assert first.record().plugin == first.plugin
    assert first.record().key == first.key
    assert registry.find("greedy").label == "Greedy (greedy)", "one of ours is called so"
    assert dlsched.simulate(scenario, Greedy(most=1)).key != first.key, "what the object holds decides the answer"
    assert dlsched.simulate(scenario, Greedy).metrics["jct_mean"] == first.metrics["jct_mean"]


def test_what_is_no_policy_or_has_a_key_of_ours_is_refused() -> None:
    with pytest.raises(InputError, match="must be a key, a PolicySpec, or an object with plan"):
        dlsched.simulate(small_scenario(2), 3)
    taken = type("Fifo", (Greedy,), {})
    with pytest.raises(InputError, match=r"policy 'fifo': both dlsched itself and .* have this key"):
        dlsched.simulate(small_scenario(2), taken())
    changed = dataclasses.replace(registry.find("fifo"), label="Other")
    with pytest.raises(InputError, match="both dlsched itself"):
        dlsched.simulate(small_scenario(2), changed)
    assert dlsched.simulate(small_scenario(2), registry.find("fifo")).plugin == ""


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (None, "must answer a Plan, got NoneType"),
        (plan_of({0.5: ()}), "rows, whole numbers"),
        (plan_of({0: Step(1)}), "must be a tuple of Step"),
        (plan_of({0: (step_of("1"),)}), "must be a tuple of Step"),
        (Plan({0: (Step(1, start_s=float("nan")),)}), "must be a tuple of Step"),
        (plan_of(wake_at_s="soon"), "wake_at_s must be a number"),
        (plan_of(status="good"), "status one of"),
        (plan_of(reasons=([0], [0.5])), "reasons must be two arrays"),
        (plan_of(rejected=(True,)), "rejected must be a tuple of rows"),
        (Plan({77: (Step(1),)}), "has not been submitted yet"),
    ],
)
def test_a_plan_that_makes_no_sense_is_an_error_with_the_name_of_the_policy(answer, why) -> None:
    nonsense = type("Nonsense", (), {"plan": lambda self, state: answer})
    with pytest.raises(PlanError, match="Policy nonsense from ") as raised:
        dlsched.simulate(small_scenario(2), nonsense())
    assert why in str(raised.value)


def test_what_progress_raises_comes_through() -> None:
    class Stopped(Exception):
        pass

    def stop(share: float, text: str) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        dlsched.simulate(small_scenario(3), Greedy(), progress=stop)


# ---- packages ----------------------------------------------------------------------------------------


def test_a_key_or_a_link_never_imports_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="this module has not been loaded"):
        registry.find("evil:SPEC")
    with pytest.raises(InputError):
        dlsched.simulate(small_scenario(2), "evil:SPEC")
    assert "evil" not in sys.modules
    with pytest.raises(InputError, match="importing it raised SystemExit: imported"):
        registry.load("evil:SPEC")


def test_plugins_of_a_package_are_imported_only_when_they_are_needed(tmp_path: Path) -> None:
    with installed(write_package(tmp_path)):
        assert registry.find("fifo").origin == ""
        assert "mypkg" not in sys.modules
        assert registry.find("mine").origin == "mypkg 1.0"
        assert "mypkg.policy" in sys.modules
        assert [spec.key for spec in registry.policies()][-1] == "mine"
        assert registry.problems() == ()


def test_versions_and_sources_are_part_of_every_key(tmp_path: Path) -> None:
    scenario, keys, versions = small_scenario(3), set(), []
    for version, module in (("1.0", MODULE), ("1.1", MODULE), ("1.1", MODULE + "# changed\n")):
        with installed(write_package(tmp_path, version, module)):
            run, task = dlsched.simulate(scenario, "mine"), VariantTask(scenario, {}, "fifo", {}, 0, ("mine", {}))
            keys |= {run.key, VariantTask(scenario, {}, "mine", {}, 0).key, task.key}
            versions.append(run.code_version)
            assert [is_older(one) for one in versions] == [True] * (len(versions) - 1) + [False]
    assert len(keys) == 9
    assert VariantTask(scenario, {}, "fifo", {}, 0).key == VariantTask(scenario, {}, "fifo", {}, 0).key
    assert version_of(scenario, ["fifo"]).count("|") == 0
    assert all(is_older(one) for one in versions), "a plug-in that is gone cannot make the answer again"


def test_of_two_with_one_key_the_second_is_refused_and_both_are_named(tmp_path: Path) -> None:
    (write_package(tmp_path) / "rival.py").write_text(MODULE.replace("My policy", "Rival"))
    write_distribution(tmp_path, "rival", "2.0", {"dlsched.policies": "mine = rival:SPEC"})
    with installed(tmp_path):
        (problem,) = registry.problems()
        assert "entry point mine of rival (rival 2.0)" in problem.where
        assert "both mypkg 1.0 and rival 2.0 have this key" in problem.why
        assert registry.find("mine").origin == "mypkg 1.0"
        with pytest.raises(InputError, match=r"both mypkg 1\.0 and rival 2\.0"):
            registry.load("rival:SPEC")


@pytest.mark.parametrize(
    ("module", "why"),
    [
        ("import nothing_like_it", "importing it raised ModuleNotFoundError: No module named 'nothing_like_it'"),
        ("SPEC = (", "importing it raised SyntaxError"),
        ("SPEC = 3", "must be a PolicySpec"),
        ("OTHER = 1", "module bad has no SPEC"),
        (MODULE.replace('"mine"', '"My key"'), "its key must be lower-case letters"),
        (MODULE.replace("Greedy, Params)", "Greedy, dict)"), "params must be a pydantic model"),
        (MODULE.replace("Greedy, Params)", "Greedy, Params, group='best')"), "group must be one of"),
        ("import time\ntime.sleep(30)", "takes longer than 2 s"),  # last: its thread holds the name
    ],
)
def test_a_broken_plugin_is_named_and_the_others_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], module: str, why: str
) -> None:
    (write_package(tmp_path) / "bad.py").write_text(module)
    write_distribution(tmp_path, "bad", "0.1", {"dlsched.policies": "other = bad:SPEC"})
    with installed(tmp_path):
        import_module("mypkg.policy")  # only the bad one may run into the limit
        monkeypatch.setattr(loading, "LIMIT_S", 2.0)
        assert registry.find("mine").origin == "mypkg 1.0"
        (problem,) = registry.problems()
        assert "bad" in problem.where
        assert why in problem.why
        assert main(["policies", "mine"]) == 0
        assert "cannot be used" in capsys.readouterr().err


def test_the_variable_names_plugins_of_every_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_package(tmp_path)
    next(tmp_path.glob("*.dist-info/entry_points.txt")).unlink()
    monkeypatch.setenv(VARIABLE, "mypkg.policy:SPEC, mypkg.speeds:MODEL,mypkg.readers:MINUTES,nowhere:SPEC")
    from dlsched.speed.outside import outside_models
    from dlsched.workload.readers.registry import find_format

    with installed(tmp_path):
        assert registry.find("mine").fingerprint.startswith("mypkg.policy +")
        assert [one.key for one in outside_models()] == ["amdahl"]
        assert find_format("minutes").label == "Jobs in minutes"
        (problem,) = registry.problems()
        assert problem.where == "plug-in nowhere:SPEC"


# ---- workers -----------------------------------------------------------------------------------------


def test_a_worker_with_another_version_or_none_refuses_with_one_message(tmp_path: Path) -> None:
    with installed(write_package(tmp_path)):
        registry.find("mine")
        (wanted,) = needed()
        assert (wanted.key, wanted.origin, wanted.reference) == ("mine", "mypkg 1.0", "")
        expect([dataclasses.replace(wanted, origin="mypkg 0.9", fingerprint="mypkg 0.9+0")])
        with pytest.raises(InputError, match=r"is from mypkg 0\.9 where it was asked for, and from mypkg 1\.0 in this"):
            registry.find("mine")
        expect([dataclasses.replace(wanted, fingerprint="mypkg 1.0+0")])
        with pytest.raises(InputError, match="with other sources in this worker"):
            registry.find("mine")
        expect([wanted])
        assert registry.find("mine").key == "mine"
        assert registry.find("fifo").key == "fifo"
    expect([wanted])
    with pytest.raises(InputError, match=r"comes from mypkg 1\.0, which this worker does not have"):
        registry.find("mine")


def test_an_order_carries_the_plugins_it_rests_on() -> None:
    assert with_plugins(len, ("abc",), {}) == (len, ("abc",), {}), "none: as it was"
    key = registry.given(Greedy(most=1)).key
    registry.find(key)
    call, args, kwargs = with_plugins(registry.find, (key,), {})
    for catalogue in CATALOGUES:
        catalogue.forget()  # the other process
    assert call(*args, **kwargs).key == "greedy"
    scenario = small_scenario(3)
    assert dlsched.simulate(scenario, "greedy").audit() == []
    lost = Needed("dlsched.policies", "gone", "this Python session", "session 1", carried=b"")
    expect([lost])
    with pytest.raises(InputError, match="is an object that cannot be sent to a worker"):
        registry.find("gone")


def test_a_hash_of_a_module_covers_what_it_imports_from_its_folder(tmp_path: Path) -> None:
    (tmp_path / "single.py").write_text("from beside import Greedy as SPEC")
    found = set()
    for text in (MODULE, MODULE + "# changed\n"):
        (tmp_path / "beside.py").write_text(text)
        with installed(tmp_path):
            found.add(registry.load("single:SPEC").fingerprint)
    assert len(found) == 2

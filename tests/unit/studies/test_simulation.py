import math

import pytest
from pandas.testing import assert_frame_equal

import dlsched
from dlsched.domain.errors import InputError
from dlsched.domain.policy import Need
from dlsched.domain.scenario import SimulationRules
from dlsched.policies import registry
from dlsched.studies import simulation as run_module
from dlsched.studies.code_version import code_version
from dlsched.studies.simulation import key_of, simulate
from tests.support.runs_for_store import small_scenario

ENGINE = SimulationRules(restart_s=1.0)  # keeps the compiled kernel, which compiles for long, out of these tests


def test_a_run_has_numbers_tables_and_a_clean_audit():
    scenario = small_scenario(options=ENGINE)  # 4 jobs of 60 s + 1 s restart, 4 GPUs: nobody waits
    run = simulate(scenario, "fifo")
    assert (run.policy, run.params, run.seed) == ("fifo", {"vm_type": None}, 0)
    assert run.metrics["jobs"] == run.metrics["completed"] == 4
    assert run.metrics["jct_mean"] == pytest.approx(61.0)
    assert run.metrics["makespan"] == pytest.approx(91.0)
    assert run.metrics["vm_cost"] == pytest.approx(2 * 3.6 / 3600 * 91)
    assert run.jobs["jct_s"].tolist() == pytest.approx([61.0] * 4)
    assert len(run.segments) == 4
    assert set(run.nodes["vm_type"]) == {"two"}
    assert not run.decisions.empty
    assert run.audit() == []
    assert run.read == {"rows": 4, "kept": 4, "repaired": 0, "dropped": 0}
    assert set(run.cpu_s) == {"simulate", "metrics", "audit"}
    assert run.jobs is run.jobs  # computed once


def test_the_audit_is_of_this_run():
    run = simulate(small_scenario(options=ENGINE), "fifo")
    run.log.piece_rate[0] = 2.0
    assert run.audit() != []


def test_a_metric_that_does_not_follow_from_the_log_is_found():
    run = simulate(small_scenario(options=ENGINE), "fifo")
    run.metrics["jct_mean"] = 1.0
    assert any("jct_mean" in line for line in run.audit())


@pytest.mark.parametrize(
    ("policy", "params", "message"),
    [
        ("fifoo", None, "policy 'fifoo': no policy has this key. Try 'fifo'"),
        ("fifo", {"speed": 3}, "policy fifo, speed"),
        ("priority", None, "policy priority: needs priorities, which the scenario does not have"),
    ],
)
def test_what_cannot_be_run_is_said_before_anything_is_computed(policy, params, message, monkeypatch):
    monkeypatch.setattr(run_module, "prepare", lambda *_: pytest.fail("computed"))
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        simulate(small_scenario(), policy, params)


def test_a_quantum_no_longer_than_a_restart_is_refused():
    scenario = small_scenario(options=SimulationRules(restart_s=60.0))
    with pytest.raises(InputError, match=r"policy las, quantum_s: must be above the restart time of 60 s"):
        simulate(scenario, "las", {"quantum_s": 60.0})
    assert simulate(scenario, "las", {"quantum_s": 61.0}).metrics["completed"] == 4


def test_no_jobs_left_is_an_input_error():
    scenario = small_scenario(options=ENGINE)
    with pytest.raises(InputError, match="has no jobs to run"):
        simulate(scenario.replace(workload=scenario.workload.head(0)), "fifo")


def test_key_depends_on_the_question_only():
    scenario = small_scenario(options=ENGINE)
    key = key_of(scenario, "fifo")
    assert key == simulate(scenario, "fifo").key == key_of(scenario.replace(name="x"), "fifo")
    others = {
        key_of(scenario, "sjf"),
        key_of(scenario, "fifo", seed=1),
        key_of(scenario.replace(seed=1), "fifo"),
        key_of(scenario, "las", {}),
    }
    assert key not in others
    assert len(others) == 4


def test_default_parameters_written_out_are_the_same_question():
    scenario = small_scenario()
    spec = registry.find("las")
    full = spec.parse({}).model_dump(mode="json")
    assert key_of(scenario, spec.key, full) == key_of(scenario, spec.key)


def test_the_list_of_policies_can_be_asked_for_before_and_after_its_package_is_imported():
    assert dlsched.policies() == registry.POLICIES


def test_code_version_is_stable_and_names_the_package():
    version, _, digest = code_version().partition("+")
    assert version == dlsched.__version__
    assert len(digest) == 12
    code_version.cache_clear()
    assert code_version().endswith(digest)


def test_the_record_is_complete_and_the_store_takes_it(tmp_path):
    from dlsched.store import Store

    run = simulate(small_scenario(options=ENGINE), "fifo")
    record = run.record("my run")
    assert record.key == run.key
    with Store(tmp_path / "s.duckdb") as store:
        run_id = store.save_run(record)
        assert store.metrics(run_id) == run.metrics
        for kept, made in (
            (store.jobs(run_id), run.jobs),
            (store.segments(run_id), run.segments),
            (store.nodes(run_id), run.nodes),
            (store.decisions(run_id), run.decisions),
            (store.waits(run_id), run.waits),
            (store.series(run_id), run.series),
        ):
            assert set(kept.columns) == set(made.columns)
            assert_frame_equal(kept[made.columns], made, check_dtype=False)


def test_progress_is_told_and_may_stop_the_run():
    from dlsched.sim.simulate import Cancelled

    told = []

    def progress(share, text):
        told.append(share)
        if share > 0.2:
            raise Cancelled

    with pytest.raises(Cancelled):
        simulate(small_scenario(2_000, options=ENGINE), "fifo", progress=progress)
    assert all(0 <= share <= 1 and math.isfinite(share) for share in told)


def test_clairvoyant_policies_get_the_jobs(monkeypatch):
    from dataclasses import replace

    seen = []
    spec = registry.find("fifo")

    def build(params, jobs):
        seen.append(jobs)
        return spec.build(params)

    knowing = replace(spec, clairvoyant=True, needs=frozenset({Need.DUE}), build=build)
    monkeypatch.setattr(registry, "find", lambda key: knowing)
    simulate(small_scenario(options=ENGINE), "fifo")
    assert len(seen[0]) == 4

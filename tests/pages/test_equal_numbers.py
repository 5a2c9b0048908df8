"""One question has one answer: the same numbers on Run details, on Compare, by the command and by the library."""

from __future__ import annotations

import json

import pytest

from dlsched.cli.main import main
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.metrics.kpi import KPIS
from dlsched.metrics.stats.statements import change_of, value_of
from dlsched.policies.registry import find
from dlsched.studies.design import Futures, Variant, run_variants
from dlsched.studies.futures_numbers import plan_futures
from dlsched.ui.frame import futures as futures_menu
from dlsched.ui.simulate import run
from dlsched.wording.certainty import range_words
from dlsched.workload.catalogue import data_path
from dlsched.workload.load import load
from dlsched.workload.scenario_file import write_scenario
from dlsched.workload.studies.registry import draw
from tests.support.known import known
from tests.support.recorded_week import recorded_week
from tests.support.waiting import PATIENCE_S

ASKED = ("wait_p95", "wait_mean", "late_share", "cost_month")
POLICIES = ("fifo", "sjf")
RESULT, COMPARE = "results/run_details.py", "results/compare.py"


def generated() -> Scenario:
    """The demo's job mix on the same nodes, of 60 jobs."""
    demo = load(data_path("demo.toml"))
    mix = known(demo.generator)
    spec = {**mix, "jobs": 60, "arrivals": {**mix["arrivals"], "jobs_per_h": 60}}
    # A horizon is beyond the compiled loops, which would take long to compile in a test.
    return demo.replace(generator=spec, workload=draw(spec, demo.seed), options=SimulationRules(horizon_s=1e9))


def words_of(value, low, high, key) -> tuple[str, str]:
    """Return a value and its range as all pages write them."""
    return KPIS[key].show(value), range_words(KPIS[key].kind, low, high)


@pytest.mark.parametrize(
    ("scenario", "vary", "kind"), [(generated(), {}, "drawn"), (recorded_week(), {"days": 1.0}, "recorded")],
    ids=["generated", "recorded"],
)  # fmt: skip
def test_values_and_ranges_are_the_same_wherever_they_are_asked(
    scenario, vary, kind, store, runner, open_page, tmp_path, capsys
):
    asked = Futures.first(12, vary)
    variants = [Variant(policy=policy) for policy in POLICIES]
    batch = run_variants(scenario, variants, asked)
    basis = plan_futures([(scenario, one) for one in variants], asked).basis
    assert basis.kind == kind
    expected, verdicts = {}, {}
    for key in ASKED:
        of = [[float(known(known(one.metrics)[key])) for one in results] for results in batch.results]
        for policy, values in zip(POLICIES, of, strict=True):
            expected[policy, key] = value_of(KPIS[key], values, basis)
        verdicts[key] = change_of(KPIS[key], of[1], of[0], basis)
    assert expected["fifo", "wait_p95"] != expected["sjf", "wait_p95"]
    assert expected["fifo", "wait_p95"].low is not None
    shown = {at: words_of(one.value, one.low, one.high, at[1]) for at, one in expected.items()}

    store.save_scenario(scenario)
    futures_menu.choose(scenario, asked)
    run.plan_of(scenario, [find(policy) for policy in POLICIES], {}).start()
    assert runner.wait(PATIENCE_S)
    ids = {row.policy: row.run_id for row in store.list_runs().sort_values("seed", ascending=False).itertuples()}

    for policy in POLICIES:  # Run details: the table of all numbers, and the cards
        page = open_page(RESULT, run=ids[policy], part="Numbers")
        assert not page.exception
        rows = page.dataframe[0].value.set_index("Name in files")
        assert {key: (rows.loc[key, "Value"], rows.loc[key, "Range"]) for key in ASKED} == {
            key: shown[policy, key] for key in ASKED
        }
        cards = {card.label: card for card in open_page(RESULT, run=ids[policy]).metric}
        wait = cards[KPIS["wait_p95"].label]
        assert (wait.value, wait.delta or "") == shown[policy, "wait_p95"]

    page = open_page(COMPARE, runs=",".join(ids[policy] for policy in POLICIES), base=ids["fifo"])
    assert not page.exception
    table = page.table[0].value.set_index("Metric")
    folded = " ".join(text.value for text in page.markdown).replace("\\", "")
    for key in ASKED:
        for policy in POLICIES:
            value, around = shown[policy, key]
            if KPIS[key].label not in table.index:  # the same for all: told in one line below
                assert f"{KPIS[key].label} {value}" in folded
                continue
            heading = find(policy).label + (" (B)" if policy == "fifo" else "")
            first, _, small = table.loc[KPIS[key].label, heading].replace("\\", "").partition("  \n")
            assert first.strip("*").removesuffix(" ★") == value
            assert around in small

    file = tmp_path / "asked.json"
    write_scenario(scenario, str(file))
    typed = ["--policies", ",".join(POLICIES), "--futures", "12", *(["--vary", "days"] if vary else [])]
    assert main(["compare", str(file), *typed, "--json", "--processes", "1"]) == 0
    answer = json.loads(capsys.readouterr().out)
    rows = {(row["name"], row["key"]): row for row in answer["rows"]}
    for policy, key in expected:
        row, one = rows[find(policy).label, key], expected[policy, key]
        ends = [one.value if end is None else end for end in (one.low, one.high)]
        assert [row["value"], row["low"], row["high"]] == pytest.approx([one.value, *ends], rel=1e-12)
        assert row["futures"] == one.n
    for key, change in verdicts.items():
        row = rows["SJF", key]
        assert (row["verdict"], row["better_in"]) == (change.verdict, change.better)

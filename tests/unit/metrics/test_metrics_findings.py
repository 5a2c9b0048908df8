"""Sentences, chips and guard rails, word by word."""

from __future__ import annotations

import pytest

from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario, SimulationRules, SpeedSpec
from dlsched.domain.workload import Workload
from dlsched.metrics.findings import cluster_sentence, compare_sentence, headline, result_sentence, workload_sentence
from dlsched.metrics.stats.basis import EXACT_BASIS, Basis
from dlsched.metrics.stats.compare import compare
from dlsched.wording.assumptions import assumptions, is_random
from dlsched.wording.cautions import cautions, comparison_cautions, overload_cautions
from tests.support.assumptions import read

THREE = Basis(kind="drawn", futures=2)
A100 = VmType(name="a100", gpu_type="A100", gpus=8, usd_per_h=16.75)
JOBS = Workload.from_columns({"job_id": ["a"], "submit_s": [0.0], "work": [1.0]})


def scenario(*pools: Pool, speed: SpeedSpec | None = None, absences=(), **fields) -> Scenario:
    options = SimulationRules(**{key: fields.pop(key) for key in list(fields) if key in SimulationRules.model_fields})
    cluster = Cluster(pools=pools or (Pool(vm=A100, count=8),), absences=tuple(absences))
    return Scenario(JOBS, cluster, options, speed or SpeedSpec(), **fields)


# ---- sentences -------------------------------------------------------------------------------------


def test_workload_sentence():
    full = workload_sentence(9_383, 41 * 86_400, 1_080, load=0.84, room="64 GPUs", never_fit=3)
    assert full == "9,383 jobs in 41 d ask for 84% of 64 GPUs; 3 can never fit; half run under 18 min."
    assert workload_sentence(1, 0, None) == "1 job at once."
    mixed = workload_sentence(2, 60, None, load=0.5, room="64 GPUs", scarcer="112% of 480 cores")
    assert mixed == "2 jobs in 1 min ask for 50% of 64 GPUs and 112% of 480 cores."


@pytest.mark.parametrize(
    ("cluster", "widest", "fits", "text"),
    [
        (scenario().cluster, 64, True, "8 nodes, 64 A100, $134/h ($97,800 a month). Largest job (64 GPUs) fits."),
        (
            Cluster(pools=(Pool(vm=VmType(name="x", gpus=1), count=1),)),
            2,
            False,
            "1 node, 1 GPU, no price set. Largest job (2 GPUs) does not fit.",
        ),
        (
            Cluster(slots=5, catalogue=(A100,)),
            None,
            True,
            "Up to 5 rented machines, the policy chooses from 1 machine type.",
        ),
        (
            Cluster(pools=(Pool(vm=VmType(name="c", gpus=0, usd_per_h=1), count=2),)),
            0,
            True,
            "2 nodes, $2.00/h ($1,460 a month).",
        ),
    ],
)
def test_cluster_sentence(cluster, widest, fits, text):
    assert cluster_sentence(cluster, widest, fits=fits) == text


@pytest.mark.parametrize(
    ("metrics", "text"),
    [
        (
            {"wait_p50": 240, "wait_p95": 11_520, "late_share": 0.061, "vm_cost": 42_317, "tardiness_cost": 8_310},
            "FIFO: half of the jobs started within 4 min, but 1 in 20 waited over 3 h 12 min; 6.1% of the jobs were "
            "late; $42,300 for machines and $8,310 for lateness.",
        ),
        (
            {
                "wait_p50": 0,
                "wait_p95": 60,
                "slowdown_mean": 2.4,
                "allocation_ratio": 0.784,
                "jobs": 20,
                "rejected": 3,
                "unfinished": 1,
            },
            "FIFO: half of the jobs started at once, but 1 in 20 waited over 1 min; mean slowdown 2.4x; 78.4% of the "
            "GPU time was allocated; of 20 jobs 3 rejected, 1 unfinished.",
        ),
        (
            {"wait_p50": 0, "wait_p95": 0, "wait_max": 0, "late_share": 0.0},
            "FIFO: every job started at once; no job was late.",
        ),
        ({"wait_p50": 0, "wait_p95": 0, "wait_max": 9}, "FIFO: 95 of 100 jobs started at once."),
        (
            {
                "wait_p50": 0,
                "wait_p95": 60,
                "other_width_share": 0.2,
                "jct_mean": 7200,
                "jct_median": 3600,
                "jct_p95": 36_000,
                "preemptions": 3,
                "not_running_mean": 1800,
            },
            "FIFO: jobs take 2 h on average, half of them up to 1 h, 1 in 20 over 10 h; 30 min of it without progress.",
        ),
        (
            {"wait_p50": None, "wait_p95": None, "jobs": 2, "unfinished": 2},
            "FIFO: no job started; of 2 jobs 2 unfinished.",
        ),
    ],
)
def test_result_sentence(metrics, text):
    assert result_sentence("FIFO", metrics) == text


FIFO = {"completed": 9_383, "wait_p95": 13_980.0, "late_share": 0.14, "cost_month": 42_300.0, "slowdown_mean": 3.0}


def sentence(other, *, exact=True, base=FIFO):
    return compare_sentence(
        compare(
            [("FIFO", base), ("EASY", {**FIFO, **other})], "FIFO", basis=EXACT_BASIS if exact else Basis(kind="drawn")
        )
    )


def test_where_widths_change_the_time_in_system_speaks_for_the_waits():
    base = {**FIFO, "jct_mean": 7_200.0, "other_width_share": 0.0}
    told = sentence({"wait_p95": 60.0, "jct_mean": 10_800.0, "other_width_share": 0.4}, base=base)
    assert told.startswith("EASY raises the mean turnaround time from 2 h to 3 h (+1 h) against FIFO")
    same_widths = sentence({"wait_p95": 60.0, "jct_mean": 10_800.0, "other_width_share": 0.0}, base=base)
    assert same_widths.startswith("EASY cuts the p95 wait")


@pytest.mark.parametrize(
    ("other", "text"),
    [
        pytest.param(
            {"wait_p95": 11_520.0},
            "EASY cuts the p95 wait from 3 h 53 min to 3 h 12 min (−41 min) against FIFO at the same machine cost "
            "(exact for this trace, not a forecast).",
            id="better at the same cost",
        ),
        pytest.param(
            {"wait_p95": 11_520.0, "late_share": 0.06, "cost_month": 51_700.0},
            "EASY is a trade-off against FIFO: it cuts the p95 wait from 3 h 53 min to 3 h 12 min (−41 min) and cuts "
            "late jobs from 14% to 6% (−8 pp), but raises machine cost from $42,300/month to $51,700/month "
            "(+$9,400/month) (exact for this trace, not a forecast).",
            id="metrics disagree",
        ),
        pytest.param(
            {"completed": 9_371},
            "EASY cuts completed jobs from 9,383 to 9,371 (−12) against FIFO, and nothing gets better "
            "(exact for this trace, not a forecast).",
            id="only worse",
        ),
        pytest.param(
            {},
            "EASY leaves completed jobs, the p95 wait, late jobs and machine cost the same as FIFO (exact for this "
            "trace, not a forecast).",
            id="all the same",
        ),
    ],
)
def test_compare_sentence(other, text):
    assert sentence(other) == text


def test_one_draw_of_something_random_claims_nothing():
    text = sentence({"wait_p95": 11_520.0}, exact=False)
    assert text == (
        "EASY has the p95 wait 3 h 12 min against 3 h 53 min of FIFO: one simulation is too few to say which is better "
        "(rough preview, 1 simulation)."
    )


def test_never_better_when_not_clear():
    runs = [
        ("FIFO", [{"wait_p95": v} for v in (100.0, 200.0, 300.0)]),
        ("B", [{"wait_p95": v} for v in (10.0, 290.0, 200.0)]),
    ]
    assert compare_sentence(compare(runs, "FIFO", basis=THREE)) == (
        "B does not clearly change the p95 wait against FIFO (95% interval over 3 simulated versions of the workload)."
    )


def test_intervals_are_told_with_the_change():
    runs = [
        ("A", [{"wait_p95": v} for v in (7_200.0, 7_400.0, 7_100.0)]),
        ("B", [{"wait_p95": v} for v in (3_600.0, 3_900.0, 3_500.0)]),
    ]
    text = compare_sentence(compare(runs, "A", basis=THREE))
    assert text == (
        "B cuts the p95 wait from 2 h 1 min to 1 h 1 min (−52% to −44%) against A "
        "(95% interval over 3 simulated versions of the workload)."
    )


def draws(*p95, cost=42_300.0, **more):
    return [{"wait_p95": wait, "late_share": wait / 1e5, "cost_month": cost, **more} for wait in p95]


def test_of_two_runs_the_most_important_number_each():
    runs = [("FIFO", draws(7_200.0, 7_400.0, 7_100.0)), ("EASY", draws(3_600.0, 3_900.0, 3_500.0)),
            ("SJF", draws(1_800.0, 1_900.0, 1_700.0))]  # fmt: skip
    assert compare_sentence(compare(runs, "FIFO", basis=THREE)) == (
        "EASY cuts the p95 wait from 2 h 1 min to 1 h 1 min (−52% to −44%) against FIFO; "
        "SJF cuts the p95 wait to 30 min (−75% to −71%), both at the same machine cost "
        "(95% interval over 3 simulated versions of the workload)."
    )


def test_of_two_runs_one_that_costs_more_is_a_trade_off():
    runs = [("FIFO", draws(7_200.0, 7_400.0, 7_100.0)), ("EASY", draws(3_600.0, 3_900.0, 3_500.0)),
            ("Market", draws(1_800.0, 1_900.0, 1_700.0, cost=51_700.0))]  # fmt: skip
    assert compare_sentence(compare(runs, "FIFO", basis=THREE)) == (
        "EASY cuts the p95 wait from 2 h 1 min to 1 h 1 min (−52% to −44%) against FIFO at the same machine "
        "cost; Market is a trade-off: it cuts the p95 wait to 30 min (−75% to −71%), but raises machine "
        "cost from $42,300/month to $51,700/month (+$9,400/month) (95% interval over 3 simulated versions of the "
        "workload)."
    )


def test_where_jobs_are_stopped_the_wait_alone_says_too_little():
    runs = [("FIFO", {**FIFO, "preemptions": 0, "not_running_p95": 7_200.0}),
            ("LAS", {**FIFO, "wait_p95": 0.0, "preemptions": 9, "not_running_p95": 10_800.0})]  # fmt: skip
    assert compare_sentence(compare(runs, "FIFO", basis=EXACT_BASIS)) == (
        "LAS raises the p95 total waiting from 2 h to 3 h (+1 h) against FIFO, and nothing gets "
        "better (exact for this trace, not a forecast)."
    )
    told = result_sentence("LAS", {**runs[1][1], "wait_max": 0.0, "wait_p50": 0.0, "not_running_mean": 10_800.0})
    assert "every job started at once; 3 h without progress on average, pauses included" in told
    assert "pauses" not in result_sentence("FIFO", runs[0][1])


def test_two_clauses_at_most_and_a_lone_baseline():
    runs = [("FIFO", FIFO), *((name, FIFO) for name in "BCD")]
    text = compare_sentence(compare(runs, "FIFO", basis=EXACT_BASIS))
    assert (text.count("leaves "), "1 more in the table" in text) == (2, True)
    assert (
        compare_sentence(compare(runs[:1], "FIFO", basis=EXACT_BASIS))
        == "Only FIFO is here: choose another run to compare it with."
    )


# ---- chips -----------------------------------------------------------------------------------------


def labels(given: Scenario, *, stops_jobs: bool = False) -> list[str]:
    return [chip.label for chip in assumptions(given, stops_jobs=stops_jobs)]


def test_a_plain_trace_has_only_prices_and_placement():
    assert labels(scenario()) == ["list prices", "billing per second", "placement: best fit"]


def test_every_rule_that_is_not_neutral_has_a_chip():
    given = scenario(
        Pool(vm=A100.model_copy(update={"speed": 2.0}), count=1),
        Pool(vm=VmType(name="old"), count=1),
        speed=SpeedSpec(kind="scaling"),
        absences=[Absence(node=0, start_s=5)],
        data_kind="generated",
        seed=7,
        assumptions=read("due = submit + 1–3 x run time", "read as: team"),
        billing="hour",
        rejection_usd=5,
        restart_s=15,
        checkpoint_s=3600,
        estimate_error=0.5,
        bug_share=0.02,
        cancel_share=0.1,
        horizon_s=86_400,
        oversize="cap",
        placement="pool",
    )
    assert labels(given) == [
        "read as: team",
        "estimates ± 50%",
        "no price set",
        "list prices",
        "billing per started hour",
        "$5.00 per rejected job",
        "placement: one pool",
        "machines differ in speed",
        "1 failure",
        "speed-up 80% per doubling",
        "restart 15 s",
        "checkpoint every 1 h",
        "stopped at 1 d",
        "jobs that are too large: fewer GPUs",
        "2% of jobs crash early",
        "10% of jobs cancelled",
    ]
    assert all(chip.why.endswith(".") and chip.where for chip in assumptions(given))


def test_a_speed_curve_is_changed_where_it_was_made():
    given = scenario(assumptions=read("speed curve: AlexNet, one server"))
    (chip,) = [chip for chip in assumptions(given) if chip.label.startswith("speed curve")]
    assert (chip.label, chip.where) == ("speed curve: AlexNet, one server", "Speed-up, Throughput")
    drawn = given.replace(generator={"kind": "training-stream"})
    (chip,) = [chip for chip in assumptions(drawn) if chip.label.startswith("speed curve")]
    assert chip.where == "Jobs"


def test_free_restarts_are_an_assumption_where_jobs_are_stopped():
    assert "restarts cost nothing" in labels(scenario(), stops_jobs=True)
    assert "restarts cost nothing" not in labels(scenario())
    assert "restarts cost nothing" not in labels(scenario(restart_s=30), stops_jobs=True)


# ---- guard rails -----------------------------------------------------------------------------------


def test_a_sound_scenario_needs_no_banner():
    assert cautions(scenario(), load=0.84) == []


def test_overload_and_jobs_that_never_fit_come_with_their_numbers():
    found = cautions(scenario(), load=1.18, never_fit=3, widest=128)
    assert [guard.level for guard in found] == ["orange", "orange"]
    assert found[0].text.startswith("Jobs ask for 118% of what 64 GPUs can do: the queue grows until the trace ends")
    assert found[1].text == "3 jobs can never fit the cluster; the largest asks for 128 GPUs."
    assert all(guard.action for guard in found)


def test_a_banner_of_overload_names_the_cluster_it_speaks_of():
    given = scenario()
    (found,) = overload_cautions(1.44, given, "On the size found", "Take a longer trace")
    assert found.text.startswith("On the size found, jobs ask for 144% of what 64 GPUs can do: the queue grows")
    assert found.action == "Take a longer trace"
    assert [overload_cautions(load, given) for load in (None, 0.5, 1.0, float("nan"))] == [[], [], [], []]


def test_worst_first():
    given = scenario(Pool(vm=VmType(name="x"), count=1), bug_share=0.1)
    metrics = {"jobs": 100, "unfinished": 12, "stalled": 0}
    found = cautions(given, metrics, left_out=1, audit=["at 5 s: node 0 is overfull", "more"])
    assert [guard.level for guard in found] == ["red", "orange", "orange", "info"]
    assert found[0].text == "The audit found 2 violations. First: at 5 s: node 0 is overfull."
    assert found[1].text == "1 job too large for the cluster was left out of this run."
    assert found[2].text == "12 of 100 jobs were not done at the end of the run; mean times are over the others."
    assert found[3].text.startswith("Not every machine has a price")


def test_a_stalled_run_must_not_be_used():
    found = cautions(scenario(), {"jobs": 2, "unfinished": 1, "stalled": 1})
    assert found[0].level == "red"
    assert "1 of 2 jobs was not done" in found[0].text


def test_how_sure_numbers_are_is_no_matter_of_banners():
    assert not is_random(scenario())
    assert is_random(scenario(cancel_share=0.1))
    assert cautions(scenario(), {"jobs": 1}) == cautions(scenario(bug_share=0.1), {"jobs": 1}) == []


def test_comparison_guards():
    found = comparison_cautions({"FIFO": 9_383, "Market": 9_371}, 9_371, {"FIFO": 100.0, "Market": 120.0})
    assert found[0].text == (
        "The runs completed different jobs (FIFO 9,383, Market 9,371), so their means do not compare."
    )
    assert found[0].action == "Compare only the 9,371 jobs that all runs completed"
    assert "1 min 40 s to 2 min" in found[1].text
    assert comparison_cautions({"A": 5, "B": 5}, 5, {"A": None, "B": 10.0}) == []
    assert len(comparison_cautions({"A": 5, "B": 5}, 4)) == 1


# ---- the one thing to remember ---------------------------------------------------------------------


def test_headline_names_the_best_run_in_late_jobs_else_in_waits():
    runs = [("FIFO", FIFO), ("EASY", {**FIFO, "late_share": 0.1}), ("SJF", {**FIFO, "late_share": 0.06})]
    assert headline(compare(runs, "FIFO", basis=EXACT_BASIS)) == (
        "Against FIFO, SJF cuts late jobs from 14% to 6% (−8 pp; exact for this trace, not a forecast)."
    )
    waits = [(name, {"wait_p95": wait}) for name, wait in (("FIFO", 7200.0), ("LAS", 3600.0))]
    assert headline(compare(waits, "FIFO", basis=EXACT_BASIS)) == (
        "Against FIFO, LAS cuts the p95 wait from 2 h to 1 h (−1 h; exact for this trace, not a forecast)."
    )


def test_headline_claims_nothing_where_nothing_is_better():
    runs = [("FIFO", FIFO), ("EASY", {**FIFO, "late_share": 0.2})]
    text = "No other policy here is clearly better than FIFO (exact for this trace, not a forecast)."
    assert headline(compare(runs, "FIFO", basis=EXACT_BASIS)) == text
    assert headline(compare([("FIFO", {}), ("EASY", {})], "FIFO", basis=EXACT_BASIS)) == text


def test_jobs_with_utilities_and_reservations_are_told_by_them():
    numbers = {"wait_p50": 0.0, "wait_p95": 3_600.0, "slowdown_mean": 5.3, "utility_total": 2_230.0,
               "allocation_ratio": 0.06, "used_of_reserved": 0.597}  # fmt: skip
    told = result_sentence("SMD", numbers)
    assert "their total utility is 2,230; 59.7% of the reserved resources was used" in told
    assert "slowdown" not in told
    assert "mean slowdown 5.3x; 6% of the GPU time was allocated" in result_sentence(
        "FIFO", numbers | {"utility_total": None, "used_of_reserved": None}
    )

"""How many jobs start soon, each number once; and how long an answer takes, told before it is asked."""

from __future__ import annotations

import pytest

from dlsched.studies.when_starts import STUDY, WhenSpec
from dlsched.studies.when_starts.words import sentence
from tests.support.queues_now import cluster, past, with_queue

AT_S = 10_000.0
HOUR_S = 3600.0


def _of(starts_s: list[float | None], *, ended: bool = True) -> str:
    scenario = with_queue(past([0.5]), {"job_id": "a", "submit_s": AT_S, "workers": 4, "limit_s": 100.0},
                          nodes=cluster(1))  # fmt: skip
    spec = WhenSpec(scenario=scenario.content_hash, at_s=AT_S, futures=10, policy="fifo")
    answer = STUDY.run(spec, scenario)
    (job,) = answer.jobs
    assert job.starts is not None
    jobs = tuple(
        job.model_copy(update={"starts": job.starts.model_copy(update={"median_s": start_s}), "worst_s": start_s})
        for start_s in starts_s
    )
    text = sentence(answer.model_copy(update={"jobs": jobs} | ({} if ended else {"ended": 0})))
    return text.removesuffix(" (median of 10 futures, FIFO).")


@pytest.mark.parametrize(
    ("starts_h", "words"),
    [
        ([0, 1], "2 jobs wait: all should start within 1 h"),
        ([0, 30], "2 jobs wait: 1 should start within 1 h, and no more within 24 h"),
        ([0, 5, 30], "3 jobs wait: 1 should start within 1 h and 2 within 24 h"),
        ([0, 5], "2 jobs wait: 1 should start within 1 h and all within 24 h"),
        ([2, 5], "2 jobs wait: all should start within 24 h, none of them within 1 h"),
        ([30, None], "2 jobs wait: no start is expected within 24 h"),
        ([0], "1 job waits: it should start within 1 h"),
        ([5], "1 job waits: it should start within 24 h, but not within 1 h"),
        ([None], "1 job waits: no start is expected within 24 h"),
    ],
)
def test_each_number_is_told_once(starts_h: list[float | None], words: str) -> None:
    assert _of([None if one is None else one * HOUR_S for one in starts_h]) == words


def test_without_ended_jobs_the_limits_are_told() -> None:
    assert _of([0, 5 * HOUR_S], ended=False) == (
        "2 jobs wait. With every job running to its time limit, 1 would start within 1 h and all within 24 h."
    )


def test_compiled_loops_are_told_to_be_quicker_than_the_engine() -> None:
    rows = [{"job_id": f"w{n}", "submit_s": AT_S, "workers": 4, "limit_s": 1000.0} for n in range(50)]
    scenario = with_queue(past([0.5]), *rows, nodes=cluster(1))
    spec = WhenSpec(scenario=scenario.content_hash, at_s=AT_S, futures=200)
    engine = spec.model_copy(update={"policy": "slurm", "params": {}})
    quick_s, slow_s = STUDY.estimate_s(spec, scenario), STUDY.estimate_s(WhenSpec(**engine.model_dump()), scenario)
    assert quick_s < 1 < slow_s

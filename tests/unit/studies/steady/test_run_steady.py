"""Whole experiments against queues whose mean is known, and what is said where there is none."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dlsched.domain.errors import InputError
from dlsched.sim.simulate import Cancelled
from dlsched.studies.steady import SteadyAnswer, SteadyPolicy, SteadySpec, read_spec, run_steady
from dlsched.studies.steady import point as point_module
from dlsched.studies.steady.answer import ChunkTried
from dlsched.studies.steady.point import PointTask, best_chunk, params_at, solve_point
from dlsched.studies.steady.run import pair_of
from dlsched.workload.studies.hell_knee import stream_scenario
from tests.support.known import known

ONE_NODE_S = 100.0
FIFO, SHORTEST = {"key": "waterfill"}, {"key": "srpt-all-nodes"}
"""On one node: first come first served, and shortest remaining time first."""


def network(name, seconds, share=1.0):
    """A network whose server does all the work: no speed-up; each of its jobs takes this long on any nodes."""
    times = {"worker_s": 0.0, "uplink_s": 0.0, "server_s": 1.0, "downlink_s": 0.0}
    shape = {"steps_per_epoch": 1.0, "epochs": seconds, "epoch_variance": 0.0}
    return {"name": name, "share": share, "times": times, **shape}


def asked(**changes):
    """One node and jobs of 100 s, first come first served: M/D/1."""
    base = {
        "stream": {"nodes": 1, "networks": [network("net", ONE_NODE_S)]},
        "loads": [0.5],
        "policies": [FIFO],
        "first_jobs": 2_000,
        "most_jobs": 64_000,
        "fractions": [0.5, 1.0],
    }
    return read_spec(base | changes)


# ---- known answers -------------------------------------------------------------------------------------


def test_one_node_first_come_first_served_is_the_queue_of_pollaczek_and_khinchine():
    """M/D/1: mean turnaround time = S + load S / (2 (1 - load))."""
    answer = run_steady(asked(loads=[0.3, 0.7]))
    for point in answer.points:
        load = point.load
        exact_h = ONE_NODE_S * (1 + load / 2 / (1 - load)) / 3600
        mean = known(point.response_h)
        assert point.state == "within target"
        assert known(point.relative_half_width) <= 0.05
        assert mean.mean == pytest.approx(exact_h, rel=0.08)
        assert known(point.growth).mean == pytest.approx(0, abs=0.5)
        assert point.audit == ()
        # half the work is done 50 s before the end, whatever the queue
        assert point.fractions_h[1].mean - point.fractions_h[0].mean == pytest.approx(50 / 3600)
        assert point.fractions_h[1].mean == pytest.approx(mean.mean)
        assert set(point.nodes_per_job.value) <= {0.0, 1.0}


def test_intervals_cover_the_known_mean_as_often_as_they_say():
    exact_h = ONE_NODE_S * (1 + 0.5 / 2 / 0.5) / 3600
    found = [known(run_steady(asked(seed=seed)).points[0].response_h) for seed in range(30)]
    assert sum(not interval.tells_apart(exact_h) for interval in found) >= 25
    assert np.mean([interval.mean for interval in found]) == pytest.approx(exact_h, rel=0.015)


def test_jobs_are_counted_once():
    (point,) = run_steady(asked()).points
    parts = (point.jobs_warm_up, point.jobs_measured, point.jobs_end)
    assert sum(parts) == point.jobs_simulated
    assert point.jobs_warm_up == point.jobs_simulated // 10
    assert known(point.response_h).n == point.jobs_measured
    assert np.log2(point.jobs_simulated / 2_000) % 1 == 0


def test_quantiles_are_of_the_measured_jobs():
    (point,) = run_steady(asked()).points
    assert len(point.quantiles_h) == 200
    assert list(point.quantiles_h) == sorted(point.quantiles_h)
    assert point.quantiles_h[0] == pytest.approx(ONE_NODE_S / 3600, rel=1e-6)  # half of the jobs find nobody
    assert point.quantiles_h[99] <= known(point.p50_h) <= point.quantiles_h[100]
    assert point.quantiles_h[189] <= known(point.p95_h) <= point.quantiles_h[190]
    assert np.mean(point.quantiles_h) == pytest.approx(known(point.response_h).mean, rel=0.02)


# ---- when to stop --------------------------------------------------------------------------------------


def test_the_cap_is_said_with_what_was_reached():
    (point,) = run_steady(asked(loads=[0.9], most_jobs=4_000)).points
    assert (point.state, point.jobs_simulated) == ("cap reached", 4_000)
    assert known(point.relative_half_width) > 0.05
    assert point.words.startswith(f"cap reached, ± {known(point.relative_half_width):.1%}")


def test_a_looser_target_needs_fewer_jobs():
    fine, rough = (run_steady(asked(target=target)).points[0] for target in (0.02, 0.2))
    assert fine.jobs_simulated > rough.jobs_simulated == 2_000


def test_a_policy_that_wastes_the_cluster_is_said_to_let_the_queue_grow_and_not_averaged():
    """Two nodes train no faster than one: half of the capacity is lost."""
    spec = asked(
        stream={"nodes": 4, "networks": [network("net", ONE_NODE_S)]},
        loads=[0.6],
        policies=[{"key": "jsq-chunk", "params": {"chunk": 2}, "label": "halves"}, FIFO],
    )
    halves, fifo = run_steady(spec).points
    assert halves.state == "queue grows"
    assert (halves.response_h, halves.p50_h, halves.p95_h, halves.quantiles_h, halves.fractions_h) == (
        None, None, None, (), (),
    )  # fmt: skip
    # Two chunks of rate 1 serve what four nodes at load 0.6 get: of 100 arrivals 100 (1 - 2 / 2.4) stay.
    assert abs(halves.growth.mean - 100 * (1 - 2 / 2.4)) < 2 * known(halves.growth.half_width)
    assert halves.words.startswith("queue grows by 1")
    assert halves.in_system.value[-1] > 100
    assert fifo.state == "within target"
    assert run_steady(spec).pairs == ()


# ---- common random numbers -----------------------------------------------------------------------------


def test_policies_are_compared_on_the_same_jobs():
    """Two kinds of jobs: shortest first is better in the mean, and the difference is surer than either mean."""
    two = {"nodes": 1, "networks": [network("short", 20.0), network("long", 500.0, 0.1)]}
    spec = asked(stream=two, loads=[0.7], policies=[FIFO, SHORTEST], target=0.01)
    answer = run_steady(spec)
    (pair,) = answer.pairs
    fifo, shortest = answer.points
    assert (pair.label, pair.other) == (fifo.label, shortest.label)
    assert pair.tells_apart
    # Both were measured on nearly the same jobs.
    means = known(fifo.response_h).mean, known(shortest.response_h).mean
    assert pair.difference_h.mean == pytest.approx(means[0] - means[1], rel=0.01)
    apart = np.hypot(known(known(fifo.response_h).half_width), known(known(shortest.response_h).half_width))
    assert known(pair.difference_h.half_width) < 0.95 * apart
    for point, exact_s in zip((fifo, shortest), two_kinds_s(0.7), strict=True):
        mean = known(point.response_h)
        assert abs(mean.mean - exact_s / 3600) < 1.5 * known(mean.half_width)


def two_kinds_s(load):
    """Return the mean turnaround time first come first served and shortest remaining first (Schrage and Miller).

    Shorts wait for shorts before them and for longs with less than a short left; a long's last 20 s are not disturbed.
    """
    size, share = np.array([20.0, 500.0]), np.array([1 / 1.1, 0.1 / 1.1])
    arrive = load / float(share @ size)
    fifo = share @ size + arrive * (share @ size**2) / 2 / (1 - load)
    shorts = arrive * share[0] * 20
    short_s = 20 + arrive * 20**2 / 2 / (1 - shorts)
    long_s = 20 + 480 / (1 - shorts) + arrive * (share @ size**2) / 2 / (1 - shorts) / (1 - load)
    return fifo, share @ [short_s, long_s]


def test_pairs_line_up_job_by_job():
    one = solve_point(PointTask(asked(most_jobs=2_000), SteadyPolicy(key="waterfill"), 0.5))
    longer = asked(most_jobs=4_000, first_jobs=4_000)
    other = solve_point(PointTask(longer, SteadyPolicy(key="srpt-all-nodes"), 0.5))
    pair = known(pair_of(one, other))  # jobs of one size: both policies are the same
    assert pair.difference_h.mean == 0
    assert pair.difference_h.n == 2_000 - one.point.jobs_end - 400  # the longer run leaves out more of the first
    assert not pair.tells_apart


def test_one_seed_one_answer_another_seed_another():
    first, again, other = (run_steady(asked(seed=seed)).points[0] for seed in (1, 1, 2))
    assert first.response_h == again.response_h
    assert first.response_h != other.response_h


# ---- parameters that follow from the experiment --------------------------------------------------------


def test_the_knee_is_told_the_load_of_the_point_unless_given():
    assert params_at(SteadyPolicy(key="knee-moldable"), 0.3) == {"load": 0.3}
    assert params_at(SteadyPolicy(key="knee-moldable", params={"load": 0.9}), 0.3) == {"load": 0.9}
    assert params_at(SteadyPolicy(key="fifo"), 0.3) == {}


def tried(chunk, response_h):
    return ChunkTried(chunk=chunk, response_h=response_h, jobs=100)


def test_the_best_chunk_is_the_one_with_the_smallest_mean_that_is_stable():
    assert best_chunk((tried(2, 9.0), tried(4, 7.0), tried(8, None))) == 4
    assert best_chunk((tried(4, 7.0), tried(2, 7.0))) == 2
    assert best_chunk((tried(4, None), tried(2, None))) == 2


def test_chunks_are_tried_on_other_jobs_than_those_they_are_judged_on(monkeypatch):
    seeds: list[tuple[int, int]] = []

    def watched(spec, seed):
        seeds.append((seed, spec.jobs))
        return stream_scenario(spec, seed)

    monkeypatch.setattr(point_module, "stream_scenario", watched)
    four = {"nodes": 4, "networks": [network("net", ONE_NODE_S)]}
    spec = asked(stream=four, chunks=[1, 2, 9], policies=[{"key": "jsq-chunk"}], loads=[0.4], most_jobs=2_000)
    point = solve_point(PointTask(spec, spec.policies[0], 0.4)).point
    assert seeds == [(1_000_001, 2_000)] * 3 + [(1, 2_000)]
    assert [one.chunk for one in point.chunks_tried] == [1, 2, 4]  # no chunk is larger than the cluster
    assert point.params["chunk"] == 1  # nodes bring nothing together
    assert point.chunks_tried[2].response_h is None  # all nodes for one job: a quarter of the capacity is used


# ---- the question and the answer -----------------------------------------------------------------------


def test_an_answer_survives_writing_and_reading():
    answer = run_steady(asked(policies=[FIFO, SHORTEST]))
    assert SteadyAnswer.from_plain(json.loads(json.dumps(answer.to_plain(), allow_nan=False))) == answer
    with pytest.raises(InputError, match="answer SteadyAnswer"):
        SteadyAnswer.from_plain({"points": 3})


def test_points_can_be_computed_elsewhere():
    spec = asked(loads=[0.2, 0.5], policies=[FIFO, SHORTEST])
    told: list[float] = []
    with ThreadPoolExecutor(1) as pool:
        spread = run_steady(spec, None, pool, progress=lambda share, text: told.append(share))
    here = run_steady(spec)
    assert [one.response_h for one in spread.points] == [one.response_h for one in here.points]
    assert spread.pairs == here.pairs
    assert told == [0.25, 0.5, 0.75, 1.0]


def test_progress_grows_to_one_and_stops_the_experiment():
    told: list[tuple[float, str]] = []
    run_steady(asked(loads=[0.2, 0.5]), progress=lambda share, text: told.append((share, text)))
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert any("at load 0.5: 2,000 jobs" in text for _, text in told)

    def stop(share, text):
        raise Cancelled

    with pytest.raises(Cancelled):
        run_steady(asked(), progress=stop)


def test_load_and_number_of_jobs_of_the_stream_do_not_matter():
    assert read_spec({"stream": {"load": 0.2, "jobs": 7}}) == SteadySpec()


def test_a_violation_of_the_log_is_handed_on(monkeypatch):
    monkeypatch.setattr(point_module, "audit", lambda *args: ["at 3 s: node 1 holds 2 of 1 GPUs"])
    (point,) = run_steady(asked()).points
    assert point.audit[0] == "2,000 jobs: at 3 s: node 1 holds 2 of 1 GPUs"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"loads": [0.5, 1.0]}, "at load 1 and above .* the queue grows without end"),
        ({"loads": [0.0]}, "above 0 and below 1, got 0.0"),
        ({"loads": [0.5, 0.3]}, "loads must ascend"),
        ({"loads": []}, "at least 1 item"),
        ({"loads": list(np.linspace(0.01, 0.9, 21))}, "at most 20 items"),
        ({"first_jobs": 200, "most_jobs": 100}, "first_jobs must not be above most_jobs, got 200 > 100"),
        ({"fractions": [0.5, 1.5]}, "fractions must be above 0 and at most 1"),
        ({"fractions": [1.0, 0.5]}, "fractions must ascend"),
        ({"chunks": [0]}, "chunks.0: Input should be greater than or equal to 1"),
        ({"target": 0.0}, "target: Input should be greater than or equal to 0.005"),
        ({"policies": [{"key": "fifoo"}]}, "policy 'fifoo': no policy has this key"),
        ({"policies": [FIFO, FIFO]}, "two are called .* Give them labels"),
        ({"policies": [{"key": "knee-moldable", "params": {"alpha": 1}}]}, "no such parameter"),
        ({"policies": [{"key": "edf"}]}, "needs due dates"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_bad_questions_are_refused_with_the_reason(changes, message):
    with pytest.raises(InputError, match=message):
        run_steady(asked(**changes))

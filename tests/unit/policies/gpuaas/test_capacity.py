import numpy as np
import pytest

from dlsched.cli.solve import KINDS, answer
from dlsched.domain.errors import InputError
from dlsched.domain.model import plain
from dlsched.policies.gpuaas.capacity import read, solve
from dlsched.policies.gpuaas.instance import Schedule, violations
from tests.support.gpuaas_oracle import least_cost

SEARCHES = ("greedy", "randomized-greedy", "path-relinking", "market")


def given(**changes):
    """Two jobs, three machine types: 0 and 1 have the same GPUs, on type 2 job 1 cannot run."""
    return {
        "nodes": 2,
        "vm_gpus": [1, 2, 2],
        "vm_price": [1.0, 2.0, 1.5],
        "times": [[[5], [5, 3], [6, 4]], [[4], [4, 2], [None, None]]],
        "slack": [4, None],
        "weight": [1, 0.5],
        **changes,
    }


def drawn(rng, method="exact", **changes):
    vm_gpus = rng.integers(1, 4, 3).tolist()
    jobs = int(rng.integers(1, 5))
    times = rng.integers(1, 20, (jobs, 3, 3)).tolist()
    return {
        "nodes": int(rng.integers(1, 3)),
        "vm_gpus": vm_gpus,
        "vm_price": (rng.integers(1, 5, 3) / 4).tolist(),
        "times": [
            [
                [None if rng.random() < 0.15 else time for time in row[:gpus]]
                for row, gpus in zip(rows, vm_gpus, strict=True)
            ]
            for rows in times
        ],
        "slack": [None if rng.random() < 0.2 else int(rng.integers(-5, 25)) for _ in range(jobs)],
        "weight": (rng.integers(0, 4, jobs) / 2).tolist(),
        "period": float(rng.integers(1, 6)),
        "postpone_factor": float(rng.choice([1, 100])),
        "idle_penalty": float(rng.choice([0, 0.5])),
        "method": method,
        **changes,
    }


def schedule_of(instance, found):
    schedule = Schedule.empty(instance)
    for job, node, vm, gpus in found["schedule"]:
        schedule.node[job], schedule.gpus[job], schedule.vm[node] = node, gpus, vm
    return schedule


def test_an_instance_by_hand():
    # Job 0 on type 2 with 2 GPUs: 4 x 1.5 = 6, in time; job 1 has no due date, so waiting is free.
    found = dict(answer(KINDS["capacity"], given(vm_price=[1.25, 2.5, 1.5])))
    assert found.pop("cpu_s") >= 0
    assert found == {
        "status": "optimal",
        "objective": pytest.approx(6.0),
        "proxy": pytest.approx(6 / 6),
        "schedule": [[0, 0, 2, 2]],
        "bound": pytest.approx(6.0),
    }


def test_defaults_and_types_of_gpus():
    instance = read(given()).instance
    assert (instance.period, instance.postpone_factor, instance.idle_penalty, instance.exactly) == (3600, 100, 1, False)
    assert instance.vm_family.tolist() == [0, 0, 1]
    assert instance.times[:, 0].tolist() == [[5, 3], [4, 2]]
    assert instance.times[1, 1].tolist() == [np.inf, np.inf]
    assert instance.slack.tolist() == [4, np.inf]
    assert read(given()).method == "exact"


@pytest.mark.parametrize(
    ("times", "families", "why"),
    [
        ([[[5], [5, 3], [5, 3]]], [0, 0, 0], "all agree"),
        ([[[5], [5, 3], [5, 4]]], [0, 0, 1], "the first agrees with both: it is of the first large type"),
        ([[[5], [6, 3], [5, 3]]], [1, 0, 1], "types are numbered from the largest machine"),
        ([[[None], [None, 3], [5, 3]]], [0, 0, 1], "both cannot run: they agree"),
        ([], [0, 0, 0], "no job tells them apart"),
    ],
)
def test_machine_types_that_agree_are_one_gpu_type(times, families, why):
    del why
    instance = read(given(times=times, slack=[1] * len(times), weight=[1] * len(times))).instance
    assert instance.vm_family.tolist() == families


@pytest.mark.parametrize("exactly", [False, True])
def test_exact_is_enumeration(exactly):
    rng = np.random.default_rng(8)
    for _ in range(25):
        fields = drawn(rng, open="exactly" if exactly else "at-most")
        instance, found = read(fields).instance, solve(read(fields))
        best = least_cost(instance)
        if not np.isfinite(best):
            assert found == {"status": "infeasible", "objective": None, "proxy": None, "schedule": [], "bound": None}
            continue
        assert found["status"] == "optimal"
        assert found["objective"] == pytest.approx(best, rel=1e-6, abs=1e-9)
        assert violations(instance, schedule_of(instance, found)) == []


@pytest.mark.parametrize("exactly", [False, True])
@pytest.mark.parametrize("method", SEARCHES)
def test_searches_are_feasible_and_never_below_the_optimum(method, exactly):
    rng = np.random.default_rng(9)
    for _ in range(25):
        fields = drawn(rng, method, open="exactly" if exactly else "at-most")
        instance, found = read(fields).instance, answer(KINDS["capacity"], fields)
        best = least_cost(instance)
        if not np.isfinite(best):
            assert (found["status"], found["objective"], found["schedule"]) == ("infeasible", None, [])
            continue
        assert (found["status"], found["bound"]) == ("feasible", None)
        assert violations(instance, schedule_of(instance, found)) == []
        assert found["objective"] >= best * (1 - 1e-9) - 1e-9


@pytest.mark.parametrize("method", ["exact", *SEARCHES])
def test_the_same_seed_gives_the_same_answer_in_plain_values(method):
    fields = drawn(np.random.default_rng(10), method, seed=3)
    first, again = solve(read(fields)), solve(read(fields))
    assert first == again == plain(first)
    assert all(type(value) is int for row in first["schedule"] for value in row)


def test_no_jobs():
    for method in ("exact", *SEARCHES):
        found = solve(read(given(times=[], slack=[], weight=[], method=method)))
        assert (found["objective"], found["schedule"]) == (0.0, [])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nodes": 0}, "instance, nodes: Input should be greater than or equal to 1, got 0"),
        ({"nodes": 2.5}, "instance, nodes: Input should be a valid integer, got 2.5"),
        ({"nodes": True}, "instance, nodes: Input should be a valid integer, got True"),
        ({"nodes": 10**9}, "instance, nodes: Input should be less than or equal to 10000"),
        ({"vm_gpus": [1, 0, 2]}, "instance, vm_gpus.1: Input should be greater than or equal to 1, got 0"),
        ({"vm_gpus": [1, 65, 2]}, "instance, vm_gpus.1: Input should be less than or equal to 64, got 65"),
        ({"vm_gpus": []}, "instance, vm_gpus: List should have at least 1 item"),
        ({"vm_price": [1, -2, 1]}, "instance, vm_price.1: Input should be greater than 0, got -2"),
        ({"vm_price": [1, 0, 1]}, "instance, vm_price.1: Input should be greater than 0, got 0"),
        ({"vm_price": [1, float("nan"), 1]}, "instance, vm_price.1: Input should be a finite number, got nan"),
        ({"vm_price": [1, "2", 1]}, "instance, vm_price.1: Input should be a valid number, got '2'"),
        ({"vm_price": [1, 2]}, "instance, vm_price: must have 3 entries, as many machine types as vm_gpus, got 2"),
        ({"slack": [4]}, "instance, slack: must have 2 entries, as many jobs as times, got 1"),
        ({"slack": [4, float("inf")]}, "instance, slack.1: Input should be a finite number, got inf"),
        ({"weight": [1, 1, 1]}, "instance, weight: must have 2 entries, as many jobs as times, got 3"),
        ({"weight": [1, -1]}, "instance, weight.1: Input should be greater than or equal to 0, got -1"),
        ({"weight": [1, None]}, "instance, weight.1: Input should be a valid number, got None"),
        ({"times": [[[5], [5, 3], [6, 4]]] * 2 + [[[5]]]}, "instance, slack: must have 3 entries"),
        ({"times": [[[5], [5, 3], [6, 4]], [[4], [4, 2]]]}, "instance, times.1: must have 3 lists, one for each"),
        (
            {"times": [[[5], [5, 3], [6]], [[4], [4, 2], [1, 1]]]},
            "instance, times.0.2: must have 2 times, one for each number of GPUs of machine type 2, got 1. Write null",
        ),
        ({"times": [[[5, 4], [5, 3], [6, 4]], [[4], [4, 2], [1, 1]]]}, "instance, times.0.0: must have 1 times"),
        ({"times": [[[5], [5, 0], [6, 4]], [[4], [4, 2], [1, 1]]]}, "instance, times.0.1.1: Input should be greater"),
        ({"times": [5, 6]}, "instance, times.0: Input should be a valid list, got 5 (and 1 more)"),
        ({"period": 0}, "instance, period: Input should be greater than 0, got 0"),
        ({"postpone_factor": -1}, "instance, postpone_factor: Input should be greater than or equal to 0, got -1"),
        ({"idle_penalty": None}, "instance, idle_penalty: Input should be a valid number, got None"),
        ({"open": "some"}, "instance, open: Input should be 'at-most' or 'exactly', got 'some'"),
        ({"method": "magic"}, "instance, method: Input should be 'exact', 'greedy'"),
        ({"seed": -1}, "instance, seed: Input should be greater than or equal to 0, got -1"),
        ({"colour": "red"}, "instance, colour: Extra inputs are not permitted, got 'red'"),
    ],
)
def test_bad_fields_are_named_in_one_line(changes, message):
    error = answer(KINDS["capacity"], given(**changes))["error"]
    assert error.startswith(message)
    assert "\n" not in error


def test_missing_fields_and_too_many_times():
    fields = given()
    del fields["weight"]
    assert answer(KINDS["capacity"], fields)["error"].startswith("instance, weight: Field required")
    jobs = 9000
    row = [[1.0] * 64] * 4
    with pytest.raises(InputError, match=r"instance, times: must be at most 2,000,000, got 2,304,000"):
        read(
            given(
                vm_gpus=[64] * 4,
                vm_price=[1.0] * 4,
                times=[row] * jobs,
                slack=[1.0] * jobs,
                weight=[1.0] * jobs,
            )
        )

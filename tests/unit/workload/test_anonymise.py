"""A copy without names and dates: nothing of the names is in it, and every replay of it gives the same numbers."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.domain.assumptions import Assumption
from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.queue_lookup import queues_of
from dlsched.domain.queue_tree import QueueTree
from dlsched.domain.scenario import Scenario, SpeedSpec
from dlsched.domain.slurm import SlurmAssociation, SlurmPartition, SlurmQos, SlurmReservation, SlurmSetup
from dlsched.domain.timetable import TimeTable
from dlsched.domain.workload import Workload
from dlsched.studies.simulation import simulate
from dlsched.wording.anonymised import replaced_words, visible_words
from dlsched.workload.anonymise import anonymised, key_of, pseudonyms
from dlsched.workload.hostlist import expand
from dlsched.workload.readers import read_trace, write_native
from dlsched.workload.scenario_file import read_scenario, scenario_bytes

KEY = key_of("a secret")
ZERO = "2026-03-02T08:17:00"


def log(jobs: int = 60, seed: int = 0, **changes: Any) -> Scenario:
    """Return a log with every column of text, ties, partitions and an absence, on three kinds of nodes."""
    rng = np.random.default_rng(seed)
    submit_s = np.sort(rng.integers(0, 40, jobs) * 300.0)
    partition = rng.choice(["zeta-long", "alpha-short"], jobs).astype(object)
    columns = {
        "job_id": [f"train-bert-{i}" for i in range(jobs)],
        "submit_s": submit_s,
        "work": rng.integers(1, 60, jobs) * 100.0,
        "workers": rng.integers(1, 5, jobs),
        "limit_s": np.full(jobs, 7200.0),
        "user": rng.choice(["Alice Miller", "=bob", "chloé"], jobs).astype(object),
        "group": rng.choice(["vision", ""], jobs).astype(object),
        "model": rng.choice(["secretnet", "resnet"], jobs).astype(object),
        "job_class": rng.choice(["prod", "dev"], jobs).astype(object),
        "partition": partition,
        "features": np.where(partition == "zeta-long", "infini&bigmem", "infini|"),
        "recorded_start_s": submit_s + 60,
        "recorded_end_s": submit_s + 600,
        "recorded_status": rng.choice(["COMPLETED", "CANCELLED by 1001", "weird thing", ""], jobs).astype(object),
        "recorded_nodes": np.where(partition == "zeta-long", "fatnode[09-10]", "thin2,thin10"),
    }
    meta = {"time_zero": ZERO, "time_zone": "Mars/Olympus", "source": "acme-hpc.csv", "computer": "Acme HPC"}
    pools = (
        Pool(
            vm=VmType(name="acme-fat", gpus=4, usd_per_h=8.0), count=2, partition="zeta-long", features="bigmem|infini"
        ),
        Pool(vm=VmType(name="acme-thin", gpus=4, usd_per_h=4.0), count=2, partition="alpha-short", features="infini"),
        Pool(vm=VmType(name="acme-any", gpus=2), count=1),
    )
    cluster = Cluster(pools=pools, absences=(Absence(node=1, start_s=600.0, end_s=4000.0),))
    told = (Assumption(text="jobs of vision are urgent"), Assumption(kind="default-cluster", text="2 x acme-fat"))
    columns |= changes
    return Scenario(Workload.from_columns(columns, meta), cluster, name="Acme in May", assumptions=told)


def names_of(scenario: Scenario) -> set[str]:
    """Return all texts of a scenario that people may have given, of four letters or more."""
    jobs = scenario.workload
    texts = {str(value) for name in ("job_id", "user", "group", "model", "job_class", "partition")
             if (values := getattr(jobs, name)) is not None for value in values}  # fmt: skip
    texts |= {node for text in {*(jobs.recorded_nodes if jobs.recorded_nodes is not None else ())}
              for node in expand(str(text))}  # fmt: skip
    features = [*(jobs.features if jobs.features is not None else ()), *(p.features for p in scenario.cluster.pools)]
    texts |= {name for text in features for name in re.split("[&|]", str(text))}
    texts |= {*jobs.meta.values()} - {"as recorded", "UTC"}
    texts |= {pool.vm.name for pool in scenario.cluster.pools} | {scenario.name}
    return {text for text in texts if sum(letter.isalpha() for letter in text) >= 4}


def written(scenario: Scenario) -> list[str]:
    """Return the copy in all forms in which it leaves the company, as text."""
    csv, parquet = io.BytesIO(), io.BytesIO()
    write_native(scenario.workload, csv, "csv", dates=True)
    write_native(scenario.workload, parquet, "parquet", dates=True)
    table = read_trace(parquet.getvalue(), "copy.parquet").workload
    return [csv.getvalue().decode(), scenario_bytes(scenario).decode(), scenario_bytes(scenario, "toml").decode(),
            str(table.columns()), parquet.getvalue().decode("latin-1")]  # fmt: skip


def numbers(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metrics without the time that the policy took."""
    return {key: value for key, value in metrics.items() if "cpu" not in key}


@pytest.mark.parametrize("policy", ["fifo", "easy-backfill", "las", "sjf"])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_replay_gives_the_same_numbers(policy: str, seed: int) -> None:
    original = log(seed=seed)
    copy = anonymised(original, KEY).scenario
    again = read_scenario(scenario_bytes(copy))
    expected = simulate(original, policy)
    for other in (copy, again):
        found = simulate(other, policy)
        assert numbers(found.metrics) == numbers(expected.metrics)
        assert found.jobs["first_start_s"].tolist() == expected.jobs["first_start_s"].tolist()
    assert expected.metrics["completed"] == 60


def test_a_table_of_it_is_read_as_the_same_jobs(tmp_path: Path) -> None:
    original = log().workload
    copy = anonymised(log(), KEY).scenario.workload
    for name in ("copy.csv", "copy.parquet"):
        write_native(copy, tmp_path / name, dates=True)
        read = read_trace(tmp_path / name).workload
        for column, values in original.columns().items():
            if values.dtype != object:
                assert getattr(read, column).tolist() == values.tolist(), column
        assert read.user is not None
        assert copy.user is not None
        assert read.user.tolist() == copy.user.tolist()
        assert datetime.fromisoformat(read.meta["time_zero"]) == datetime.fromisoformat(copy.meta["time_zero"])


def test_weekday_and_hour_stay() -> None:
    copy = anonymised(log(), KEY)
    before, after = (datetime.fromisoformat(one.workload.meta["time_zero"]) for one in (log(), copy.scenario))
    moved = before - after
    assert moved.days % 7 == 0
    assert moved.seconds == 0
    assert 52 <= moved.days / 7 <= 520
    assert copy.scenario.workload.meta["time_zone"] == "as recorded"
    assert set(copy.scenario.workload.meta) == {"time_zero", "time_zone"}
    assert "Weekday and hour are as recorded" in " ".join(visible_words(copy))


def test_old_dates_move_forwards_and_zones_are_left() -> None:
    old = log()
    jobs = old.workload
    zoned = old.replace(workload=Workload.from_columns(
        {**jobs.columns(), "order": jobs.order}, {"time_zero": "1993-10-01T00:00:03+02:00"}))  # fmt: skip
    moved = datetime.fromisoformat(anonymised(zoned, KEY).scenario.workload.meta["time_zero"])
    assert moved.tzinfo is None
    assert (moved - datetime(1993, 9, 30, 22, 0, 3)).days % 7 == 0
    assert moved.year >= 1994
    dateless = old.replace(workload=Workload.from_columns({**jobs.columns(), "order": jobs.order}, {"source": "x"}))
    assert anonymised(dateless, KEY).scenario.workload.meta == {}


def test_names_are_replaced_one_for_one_and_empty_ones_stay() -> None:
    original, copy = log().workload, anonymised(log(), KEY).scenario.workload
    for column in ("job_id", "user", "group", "model", "job_class", "partition", "recorded_nodes"):
        before, after = getattr(original, column), getattr(copy, column)
        pairs = set(zip(before.tolist(), after.tolist(), strict=True))
        assert len(pairs) == len(set(before)) == len(set(after)), column
        assert all((old == "") == (new == "") for old, new in pairs)
    assert copy.partition is not None
    assert {*copy.partition} == {"p01", "p02"}
    assert copy.recorded_nodes is not None
    assert {*copy.recorded_nodes} == {"n[01-02]", "n[03-04]"}
    assert copy.recorded_status is not None
    assert {text for text in copy.recorded_status if not text.startswith("x")} == {"COMPLETED", "CANCELLED", ""}
    assert np.array_equal(copy.order, original.order)


def test_features_of_cluster_and_jobs_agree() -> None:
    copy = anonymised(log(), KEY).scenario
    assert copy.workload.features is not None
    infini = copy.cluster.pools[1].features
    bigmem = copy.cluster.pools[0].features.split("|")[0]
    assert copy.cluster.pools[0].features == f"{bigmem}|{infini}"
    assert {*copy.workload.features} == {f"{infini}&{bigmem}", f"{infini}|"}
    assert (infini[0], bigmem[0]) == ("t", "t")
    assert infini != bigmem


def test_partitions_of_cluster_and_jobs_agree() -> None:
    copy = anonymised(log(), KEY).scenario
    assert [pool.partition for pool in copy.cluster.pools] == ["p02", "p01", ""]
    assert [pool.vm.name for pool in copy.cluster.pools] == ["type-02", "type-03", "type-01"]
    assert copy.cluster.absences == log().cluster.absences
    assert copy.assumptions == (Assumption(kind="default-cluster", text="as in the original"),)


def test_overlapping_partitions_and_named_nodes_follow() -> None:
    pools = (Pool(vm=VmType(name="a", gpus=4), count=2, partition="long|alpha", nodes="fatnode[09-10]"),
             Pool(vm=VmType(name="b", gpus=4), count=1, partition="long", nodes="thin2"))  # fmt: skip
    jobs = log(partition=np.array(["alpha|long", "long"] * 30, dtype=object))
    copy = anonymised(jobs.replace(cluster=Cluster(pools=pools)), KEY).scenario
    assert [pool.partition for pool in copy.cluster.pools] == ["p02|p01", "p02"]
    assert [pool.nodes for pool in copy.cluster.pools] == ["n[01-02]", "n03"]
    assert copy.workload.partition is not None
    assert {*copy.workload.partition} == {"p01|p02", "p02"}


def test_profiles_of_the_time_table_follow_the_jobs() -> None:
    times = TimeTable(rows={"bert": {"A100": (2.0, 1.0)}, "gpt": {"A100": (3.0, 1.0)}})
    jobs = {"job_id": ["a", "b"], "submit_s": [0, 1], "work": [1, 1], "profile": ["gpt", "bert"]}
    original = Scenario(Workload.from_columns(jobs), log().cluster, speed=SpeedSpec(kind="table", times=times))
    copy = anonymised(original, KEY).scenario
    assert copy.speed.times is not None
    assert copy.workload.profile is not None
    assert [row["A100"][0] for row in (copy.speed.times.rows[name] for name in copy.workload.profile)] == [3.0, 2.0]


def test_the_key_decides_and_is_random_without_one() -> None:
    one, same, other = (anonymised(log(), key).scenario.workload for key in (KEY, key_of("a secret"), key_of()))
    assert one == same
    assert one != other
    assert key_of() != key_of()


def test_all_is_told() -> None:
    copy = anonymised(log(), KEY)
    words = replaced_words(copy)
    assert "60 jobs, 4 nodes, 3 users" in words
    assert "whole number of weeks" in words


def test_generated_jobs_are_refused() -> None:
    with pytest.raises(InputError, match="generated, not recorded"):
        anonymised(log().replace(generator={"kind": "job-mix"}), KEY)


def test_many_names_do_not_collide() -> None:
    names = [f"job-{i}" for i in range(200_000)]
    found = pseudonyms(names, KEY, "job_id")
    assert len(set(found.values())) == len(names)
    assert pseudonyms(["", "a"], KEY, "user").keys() == {"a"}


def test_host_lists_that_are_none_are_hashed() -> None:
    changed = log(recorded_nodes=np.array(["broken[", "a1,a1,a2"] * 30, dtype=object))
    nodes = anonymised(changed, KEY).scenario.workload.recorded_nodes
    assert nodes is not None
    assert {text for text in nodes if not text.startswith("x")} == {"n01,n01,n02"}
    assert not any("broken" in text for text in nodes)


TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=12)
WORD = st.text("abcdefghijklmnopqrstuvwxyzÄß", min_size=4, max_size=10)


@settings(max_examples=40, deadline=None)
@given(words=st.lists(WORD, min_size=6, max_size=6, unique=True), odd=st.lists(TEXT, min_size=2, max_size=2))
def test_no_name_is_in_the_copy(words: list[str], odd: list[str]) -> None:
    user, group, model, job_class, partition, node = words
    jobs = 6
    changes = {
        "job_id": [f"{user}{i}-{group}" for i in range(jobs)],
        "user": [user, group, odd[0]] * 2,
        "group": [group, odd[1]] * 3,
        "model": [model] * jobs,
        "job_class": [job_class] * jobs,
        "partition": [partition, ""] * 3,
        "recorded_status": [f"CANCELLED by {user}", f"{model}"] * 3,
        "recorded_nodes": [f"{node}[1-3]", f"{node}7", "", f"{node}x,{node}y"] + [""] * 2,
    }
    base = log(jobs)
    pools = (Pool(vm=VmType(name=f"{group}-node", gpus=8), count=2, partition=partition),
             Pool(vm=VmType(name=f"{group}-open", gpus=8), count=2))  # fmt: skip
    workload = Workload.from_columns({**base.workload.columns(), **changes}, {**base.workload.meta, "source": user})
    original = base.replace(workload=workload, cluster=Cluster(pools=pools), name=f"log of {user}",
                            assumptions=(Assumption(text=f"rows of {model}"),))  # fmt: skip
    copy = anonymised(original, KEY).scenario
    ours = " ".join(written(anonymised(log(1), KEY).scenario)).lower()  # headings, keys of files, fixed words
    for text in written(copy):
        for word in words:
            assert word.lower() in ours or word.lower() not in text.lower()
    assert {user, group}.isdisjoint(names_of(copy))
    assert not names_of(original) & names_of(copy) - {"anonymised"}


def test_settings_of_slurm_and_queues_are_renamed_with_the_jobs() -> None:
    jobs = log().replace(assumptions=())
    slurm = SlurmSetup(
        partitions=(SlurmPartition(name="zeta-long", QOS="prod", MaxTime_s=7200),),
        qos=(SlurmQos(name="prod", Preempt=("dev",)), SlurmQos(name="dev")),
        associations=(
            SlurmAssociation(account="vision"),
            SlurmAssociation(account="vision", user="=bob", partition="zeta-long", QOS=("prod",)),
        ),
        reservations=(
            SlurmReservation(name="secret course", nodes="fatnode09", start_s=0, end_s=9, users=("chloé",)),
            SlurmReservation(name="all", nodes="ALL", start_s=0, end_s=9, accounts=("vision",)),
        ),
        node_weights={"fatnode[09-10]": 7},
        switches={"rack dev": "fatnode[09-10]"},
    )
    tree = QueueTree.model_validate({
        "map": "user", "aliases": {"=b*": "queue of bob", "chloé": "others"}, "unmapped": "others",
        "tree": {"queue of bob": {"parent": "research", "quota": [{"nominal": 4, "flavor": "pool:acme-fat"}]},
                 "others": {"local": {"chloé": 2.0}, "order": "usage"}},
        "cohorts": {"research": {}},
    })  # fmt: skip
    given = jobs.replace(slurm=slurm, queues=tree)
    copy = anonymised(given, KEY)
    made, new = copy.scenario.slurm, copy.scenario.workload
    assert made is not None
    assert copy.scenario.queues is not None
    text = made.model_dump_json() + copy.scenario.queues.model_dump_json()
    for name in ("zeta", "prod", "dev", "vision", "bob", "chlo", "secret", "fatnode", "research", "others", "acme"):
        assert name not in text
    assert new.user is not None
    assert given.workload.user is not None
    bob = new.user[given.workload.user.tolist().index("=bob")]
    assert (made.associations[1].user, made.associations[1].partition) == (bob, made.partitions[0].name)
    assert made.reservations[0].nodes in copy.scenario.cluster.pools[0].nodes or made.reservations[0].nodes == "n01"
    assert made.reservations[1].nodes == "ALL"
    assert list(made.node_weights.values()) == [7]
    assert list(made.switches.items()) == [("s001", *made.node_weights)]
    before = queues_of(tree, given.workload)
    after = queues_of(copy.scenario.queues, new)
    numbered = dict(zip(before, after, strict=True))
    assert len(set(numbered.values())) == len(numbered)
    assert [numbered[name] for name in before] == after

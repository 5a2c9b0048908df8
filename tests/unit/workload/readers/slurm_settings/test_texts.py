"""Settings as texts in Slurm's notation and back: nothing is lost, mistakes name their cell."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.domain.slurm import (
    DEFAULTS,
    SlurmAssociation,
    SlurmLimits,
    SlurmOptions,
    SlurmPartition,
    SlurmQos,
    SlurmReservation,
    SlurmSetup,
)
from dlsched.workload.readers.slurm_settings.found import read_slurm
from dlsched.workload.readers.slurm_settings.texts import Texts, options_text, setup_of, texts_of
from tests.support.slurm_files import FILES

NAMES = st.text("abc-_", min_size=1, max_size=4)
TIMES = st.none() | st.integers(1, 10_000_000).map(float)
TRES = st.dictionaries(st.sampled_from(["cpu", "mem", "node", "gres/gpu", "gres/gpu:A100"]),
                       st.integers(1, 10**6).map(lambda n: n / 4), max_size=3)  # fmt: skip
JOBS = st.none() | st.integers(0, 1000)
LIMITS = st.builds(SlurmLimits, GrpJobs=JOBS, GrpTRES=TRES, MaxJobsPU=JOBS, MaxTRESPJ=TRES, MaxWall_s=TIMES)
MODES = st.sampled_from([None, "OFF", "CANCEL", "REQUEUE"])


def unique(model: st.SearchStrategy[Any], key: Any) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(model, max_size=3, unique_by=key).map(tuple)


SETUPS = st.builds(
    SlurmSetup,
    options=st.builds(
        SlurmOptions, PriorityWeightAge=st.none() | st.integers(0, 2**32), PriorityMaxAge_s=TIMES,
        PriorityCalcPeriod_s=TIMES, bf_window_s=TIMES, OverTimeLimit_s=TIMES | st.just("UNLIMITED"),
        defer=st.none() | st.booleans(),
        PriorityWeightTRES=st.none() | TRES.filter(bool), PriorityFlags=st.none() | st.just(("NO_FAIR_TREE",)),
        FairShareDampeningFactor=st.none() | st.sampled_from([0.5, 3.0]), PreemptMode=MODES,
    ),
    partitions=unique(
        st.builds(SlurmPartition, name=NAMES, PriorityTier=st.integers(0, 9), MaxTime_s=TIMES, DefaultTime_s=TIMES,
                  OverTimeLimit_s=TIMES | st.just("UNLIMITED") | st.just(0.0), QOS=NAMES | st.just(""),
                  TRESBillingWeights=TRES, PreemptMode=MODES, exclusive=st.booleans()),
        lambda one: one.name,
    ),
    qos=unique(
        st.builds(SlurmQos, name=NAMES, Priority=st.integers(0, 99), UsageFactor=st.sampled_from([0.0, 0.25, 2.0]),
                  Preempt=st.lists(NAMES, max_size=2, unique=True).map(tuple), PreemptMode=MODES, limits=LIMITS),
        lambda one: one.name,
    ),
    associations=unique(
        st.builds(SlurmAssociation, account=NAMES, user=NAMES, shares=st.none() | st.integers(0, 99),
                  raw_usage=st.integers(0, 10**9).map(float), QOS=st.lists(NAMES, max_size=2, unique=True).map(tuple),
                  limits=LIMITS),
        lambda one: (one.account, one.user),
    ),
)  # fmt: skip


@settings(max_examples=60)
@given(SETUPS, NAMES)
def test_what_is_written_is_read_again(setup: SlurmSetup, name: str) -> None:
    """One QOS more makes all be read; the accounts of users are added, as Slurm has one for each."""
    texts = texts_of(setup)
    assert setup_of(texts, setup) is setup
    more = f"{name}+"
    read = setup_of(texts._replace(qos=[*texts.qos, {"Name": more}]), SlurmSetup())
    assert (read.options, read.partitions) == (setup.options, setup.partitions)
    assert read.qos == (*setup.qos, SlurmQos(name=more))
    assert set(map(repr, setup.associations)) <= set(map(repr, read.associations))


def test_an_edit_keeps_what_is_not_shown() -> None:
    kept = SlurmReservation(name="r", nodes="n1", start_s=0, end_s=1)
    odd = SlurmPartition(name="a", MaxTime_s=100.25)
    before = SlurmSetup(partitions=(odd,), reservations=(kept,), node_weights={"n1": 3})
    texts = texts_of(before)
    options = {**texts.options, "PriorityMaxAge_s": "14-0", "bf_window_s": "2880", "defer": "yes"}
    after = setup_of(texts._replace(options=options), before)
    assert after == before.model_copy(
        update={"options": SlurmOptions(PriorityMaxAge_s=14 * 86400, bf_window_s=2 * 86400, defer=True)}
    )
    assert after.partitions[0] is odd


def test_options_that_are_not_modelled_are_not_shown_and_stay() -> None:
    """Older scenarios have them; their hash must not change by an edit of something else."""
    before = SlurmSetup(options=SlurmOptions(KillWait_s=45, PriorityWeightAssoc=7))
    texts = texts_of(before)
    assert not {"KillWait_s", "PriorityWeightAssoc"} & set(texts.options)
    after = setup_of(texts._replace(options={**texts.options, "OverTimeLimit_s": "10"}), before)
    assert after.options == SlurmOptions(KillWait_s=45, PriorityWeightAssoc=7, OverTimeLimit_s=600)


def test_all_files_read_the_same_from_their_texts() -> None:
    setup = read_slurm((text.encode(), name) for name, text in FILES.items()).setup
    texts = texts_of(setup)
    assert setup_of(texts._replace(qos=[*texts.qos, {"Name": "more"}]), setup).associations == setup.associations


def test_defaults_are_written_as_slurm_conf_has_them() -> None:
    texts = options_text(DEFAULTS)
    shown = {
        name: texts[name] for name in ("PriorityMaxAge_s", "PriorityCalcPeriod_s", "bf_window_s", "OverTimeLimit_s")
    }
    assert shown == {
        "PriorityMaxAge_s": "7-00:00:00",
        "PriorityCalcPeriod_s": "5",
        "bf_window_s": "1440",
        "OverTimeLimit_s": "0",
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"options": {"PriorityWeightAge": "many"}}, "option PriorityWeightAge: cannot be 'many'"),
        (
            {"partitions": [{"Name": "a", "MaxTime": "soon"}]},
            "row 1, column MaxTime: 'soon' cannot be read",
        ),
        ({"partitions": [{"Name": "a", "PriorityTier": "x"}]}, "column PriorityTier: 'x' cannot be read"),
        ({"partitions": [{"Name": "a"}, {"Name": "a"}]}, "partition in row 2: is the same as row 1"),
        ({"qos": [{"Priority": "3"}]}, "QOS in row 1, column Name: is empty"),
        ({"qos": [{"Name": "a", "GrpTRES": "cpu=x"}]}, "resource cpu"),
        ({"qos": [{"Name": "a", "MaxJobsPU": "x"}]}, "MaxJobsPU=x"),
        ({"accounts": [{"Account": "a", "Share": "x"}]}, "share x"),
        ({"accounts": [{"Account": "a", "ParentName": "b"}, {"Account": "b", "ParentName": "a"}]}, "is above itself"),
    ],
)
def test_mistakes_name_their_cell(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        setup_of(Texts({}, [], [], [])._replace(**change), SlurmSetup())

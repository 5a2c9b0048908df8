"""Changes of Slurm: limits, priorities of QOS, shares; and what they do to jobs worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

import dlsched
from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.domain.slurm import SlurmAssociation, SlurmLimits, SlurmOptions, SlurmQos, SlurmSetup
from dlsched.domain.workload import Workload
from dlsched.studies.design import Variant
from dlsched.studies.design.factors import changed, factor_of, factors_for, options_of, without_neutral
from dlsched.studies.simulation import simulate
from dlsched.studies.sweep.presets import low_and_high
from dlsched.studies.sweep.run import read_axis
from dlsched.studies.what_if import read_link, written_link
from dlsched.wording.formats import capital
from dlsched.wording.settings import is_plural, setting_words, value_words

SETUP = SlurmSetup(
    options=SlurmOptions(PriorityWeightQOS=1000, PriorityWeightFairshare=10),
    qos=(
        SlurmQos(name="high", Priority=50, limits=SlurmLimits(MaxTRESPU={"gres/gpu": 2})),
        SlurmQos(name="low.v2", Priority=10),
    ),
    associations=(
        SlurmAssociation(account="vision", shares=10, limits=SlurmLimits(GrpTRES={"gres/gpu": 1})),
        SlurmAssociation(account="vision", user="ann", shares=None),
        SlurmAssociation(account="nlp"),
        SlurmAssociation(account="nlp", user="ann", limits=SlurmLimits(GrpJobs=3)),
        SlurmAssociation(account="nlp", user="bob"),
    ),
)
JOBS = Workload.from_columns(
    {
        "job_id": ["a", "b", "c"], "submit_s": [0.0, 0.0, 0.0], "work": [100.0, 100.0, 100.0],
        "user": ["ann", "ann", "bob"], "group": ["vision", "vision", "nlp"], "job_class": ["low.v2", "low.v2", "high"],
    }
)  # fmt: skip


def scenario(nodes: int = 3) -> Scenario:
    """Three jobs of 100 s on one-GPU nodes: two of ann in vision, which may use one GPU, one of bob in nlp."""
    pools = (Pool(vm=VmType(name="node", gpus=1, gpu_type="A100"), count=nodes),)
    return Scenario(JOBS, Cluster(pools=pools), slurm=SETUP)


def starts(**changes: Any) -> list[float]:
    nodes = changes.pop("nodes", 3)
    key_values = {key.replace("__", "."): value for key, value in changes.items()}
    run = simulate(changed(scenario(nodes), key_values), "slurm")
    assert run.audit() == []
    return [float(one) for one in run.jobs["first_start_s"]]


def test_a_limit_of_an_account_lets_its_second_job_in():
    """With one GPU for vision its second job waits for the first; with two it does not."""
    key = "limit.account.vision.GrpTRES.gres/gpu"
    assert starts() == [0, 100, 0]
    assert starts(**{key: "+1"}) == [0, 0, 0]
    assert starts(**{key: "none"}) == [0, 0, 0]
    assert starts(**{key: "none", "limit.user.ann.MaxJobs": 1}) == [0, 100, 0]
    assert starts(**{key: "none", "limit.qos.low.v2.MaxTRESPerUser.gres/gpu:A100": 1}) == [0, 100, 0]


def test_a_priority_changes_who_goes_first():
    """All want the only node when a pass first looks at them; bob's QOS is above the other until that is raised."""
    for raised, expected in (("+0", "c"), ("+100", "a")):
        jobs = simulate(changed(scenario(1), {"qos.low.v2.Priority": raised}), "slurm", {"defer": "YES"}).jobs
        assert jobs.sort_values("first_start_s")["job_id"].tolist()[0] == expected


@pytest.mark.parametrize(
    ("key", "value", "now", "words"),
    [
        ("limit.account.vision.GrpTRES.gres/gpu", "+8", "1 GPUs",
         "a limit GrpTRES gres/gpu of 9 GPUs for account vision"),
        ("limit.account.nlp.GrpTRES.mem", 64, "no limit", "a limit GrpTRES mem of 64 GiB for account nlp"),
        ("limit.qos.high.MaxTRESPerUser.gres/gpu", "none", "2 GPUs",
         "no limit MaxTRESPerUser gres/gpu for QOS high"),
        ("limit.user.bob.MaxJobs", 2, "no limit", "a limit MaxJobs of 2 for user bob"),
        ("limit.user.ann.GrpJobs", 2, "differs by account", "a limit GrpJobs of 2 for user ann"),
        ("qos.low.v2.Priority", "+100", "10", "a priority of 110 for QOS low.v2"),
        ("qos.high.UsageFactor", 0.5, "1", "a usage factor of 0.5 for QOS high"),
        ("shares.vision", "-4", "10", "a fair share of 6 for account vision"),
        ("shares.vision/ann", 5, "its account", "a fair share of 5 for user ann in account vision"),
        ("shares.nlp", "parent", "1", "a fair share of its account for account nlp"),
    ],
)  # fmt: skip
def test_words_of_each_change_and_of_what_is_so_today(key: str, value: Any, now: str, words: str):
    factor = factor_of(scenario(), key)
    assert value_words(key, factor.unit, factor.own(scenario())) == now
    assert setting_words(key, factor.label, factor.unit, factor.read(value)) == words
    assert not is_plural(capital(words))
    after = changed(scenario(), {key: value})
    assert after.slurm != SETUP
    assert factor_of(after, key).own(after) == factor.read(value)
    assert without_neutral(after, {key: factor.read(value)}) == {}


def test_a_user_is_limited_in_every_account():
    made = changed(scenario(), {"limit.user.ann.GrpJobs": 2}).slurm
    assert made is not None
    assert [one.limits.GrpJobs for one in made.associations] == [None, 2, None, 2, None]


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("limit.account.visoin.GrpJobs", 4, "there is no account 'visoin'. Try 'vision'"),
        ("limit.qos.normal.GrpJobs", 4, "there is no QOS 'normal'. Known: high, low.v2"),
        ("limit.user.eve.MaxJobs", 4, "there is no user 'eve'. Known: ann, bob"),
        ("limit.team.x.GrpJobs", 1, "there are no limits of 'team'. Known: user, account, qos"),
        (
            "limit.account.vision.GrpTRES",
            4,
            r"of which resource. Write it as in limit.account.vision.GrpTRES.gres/gpu=16",
        ),
        (
            "limit.account.vision.GrpTRES.gpus",
            4,
            "there is no resource 'gpus'. Known: gres/gpu, cpu, mem, node, gres/gpu:A100",
        ),
        ("limit.account.vision.GrpTRES.gres/gpu", "-4", "must be at least 0 and at most 1e.09, got -3"),
        ("limit.account.vision.GrpJobs.cpu", 4, "GrpJobs is a number of jobs. Leave out .cpu"),
        ("limit.account.nlp.GrpJobs", "+4", "has no number that .4 can be added to. Give a number without a sign"),
        ("limit.account.nlp.GrpJobs", 1.5, "must be a whole number, got 1.5"),
        ("limit.account.nlp.GrpJobs", "many", "must be a number or none, got 'many'"),
        ("limit.qos.high.MaxJobs", 1, "knows no limit 'MaxJobs' of a QOS. Try 'MaxJobsPerUser'"),
        ("limit.qos.high", 1, "does not say what to change. Write it as in limit.qos.high.GrpJobs"),
        ("qos.high.Prio", 1, "there is no setting 'Prio'. Try 'Priority'"),
        ("shares.vision/eve", 1, "there is no account or user 'vision/eve'. Try 'vision'"),
    ],
)
def test_mistakes_name_the_change_and_the_way_out(key: str, value: Any, words: str):
    with pytest.raises(InputError, match=words):
        changed(scenario(), {key: value})


def test_without_settings_of_slurm_it_is_said_where_they_come_from():
    plain = scenario().replace(slurm=None)
    with pytest.raises(InputError, match=r"has no settings of Slurm. Add them on the page Cluster"):
        changed(plain, {"shares.vision": 4})
    assert not any(factor.key.startswith(("limit.", "qos.", "shares.")) for factor in factors_for(plain))


def test_what_is_set_is_offered_as_an_option():
    base = scenario()
    offered = [factor for factor in factors_for(base) if factor.key.partition(".")[0] in ("limit", "qos", "shares")]
    assert [factor.key for factor in offered] == [
        "limit.qos.high.MaxTRESPerUser.gres/gpu", "limit.account.vision.GrpTRES.gres/gpu", "limit.user.ann.GrpJobs",
        "qos.high.Priority", "qos.low.v2.Priority", "shares.vision", "shares.nlp",
    ]  # fmt: skip
    for factor in offered:
        assert factor.help.endswith("Only the policy slurm follows it.")
        assert set(options_of(base, {factor.key: low_and_high(base, factor)[0]})) == {factor.key}


def test_they_are_axes_of_sweeps_and_parts_of_links():
    base = scenario()
    key = "limit.qos.high.MaxTRESPerUser.gres/gpu:A100"
    assert read_axis(base, "shares.vision", "+4,20") == [14, 20]
    link = {"policy": ["slurm"], "set": [f"{key}:4", "qos.high.Priority:60"]}
    spec = read_link(link, base, "fifo")
    assert spec.changed == Variant(policy="slurm", changes={key: 4, "qos.high.Priority": 60})
    assert written_link(spec) == link


def test_python_callers_change_them_too():
    answer = dlsched.what_if(
        scenario(), policy="slurm", changes={"limit.account.vision.GrpTRES.gres/gpu": "+1"}, processes=1
    )
    assert "limit GrpTRES gres/gpu of 2 GPUs for account vision" in str(answer)

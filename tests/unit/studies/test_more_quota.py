"""More quota: what is tried, who gains and who loses, in the same futures; two teams, then the example."""

import pytest

from dlsched.domain.errors import InputError
from dlsched.studies.design import Futures, changed
from dlsched.studies.inspect.queues import queues_of_run
from dlsched.studies.more_quota import STUDY, MoreQuotaSpec
from dlsched.studies.more_quota.answer import MoreQuota
from dlsched.studies.more_quota.spec import choices_of
from dlsched.studies.more_quota.words import frame_of, outcome_words, sentence_of
from dlsched.studies.simulation import simulate
from dlsched.workload.catalogue import data_path
from dlsched.workload.scenario_file import read_scenario
from tests.support.quota_runs import scenario_of_teams

TEAMS = scenario_of_teams()


def asked(scenario, *queues, **more):
    return MoreQuotaSpec(scenario=scenario.content_hash, queues=queues, **more)


def test_what_is_tried():
    found = choices_of(asked(TEAMS, "vision", steps=(1, 4)), TEAMS)
    assert [(one.after, one.is_all) for one in found] == [(9, False), (12, False), (16, True)]
    assert found[0].changes == {"quota.vision.all.gpus": 9}
    assert [one.is_all for one in choices_of(asked(TEAMS, "vision", up_to_nodes=False), TEAMS)] == [False] * 3


def test_four_more_for_vision_by_hand():
    # with 12 of quota v3 need not borrow, so l1 cannot stop it, and waits for a whole node until v1 and v2 end by 410
    answer = STUDY.run(asked(TEAMS, "vision", steps=(4,), up_to_nodes=False), TEAMS)
    (outcome,) = answer.outcomes
    assert (answer.before[0].stopped, outcome.numbers[0].stopped) == (1, 0)
    own, loser = answer.own(outcome), answer.loser(outcome)
    assert own is not None
    assert (own.before_s, own.after_s, own.futures) == (0, 0, 1)
    assert loser is not None
    assert loser.queue == "language"
    assert loser.after_s == pytest.approx(410 - 70)
    words = outcome_words(answer, outcome)
    assert words.startswith("4 more GPUs for vision: its p95 wait stays 0 s, language's p95 wait rises from ")
    assert "no job is stopped, instead of 1" in words
    assert MoreQuota.from_plain(answer.to_plain()) == answer


def test_the_numbers_are_those_of_the_runs_themselves():
    scenario = read_scenario(data_path("quotas.toml"))
    futures = Futures.first(1)
    answer = STUDY.run(asked(scenario, "language", steps=(8,), up_to_nodes=False, futures=futures), scenario)
    for side, changes in ((answer.before, {}), (answer.outcomes[0].numbers, answer.outcomes[0].choice.changes)):
        for seed, numbers in zip(futures.seeds, side, strict=True):
            run = queues_of_run(simulate(changed(scenario, changes, seed), "queue-tree", seed=seed))
            assert numbers.wait_p95_s == {one.queue: one.wait_p95_s for one in run.queues}
            assert numbers.stopped == run.stopped
    frame = frame_of(answer)
    assert frame["Queue"].tolist() == ["language"]
    assert frame["More (GPUs)"].tolist() == ["+8"]
    assert sentence_of(answer).startswith("8 more GPUs for language: its p95 wait ")


def test_what_cannot_be_asked():
    with pytest.raises(InputError, match=r"there is none of this name\. Try 'vision'"):
        STUDY.check(asked(TEAMS, "visio"), TEAMS)
    plain = TEAMS.replace(queues=None)
    with pytest.raises(InputError, match="needs queues with quotas"):
        STUDY.check(asked(plain, "vision"), plain)
    with pytest.raises(InputError, match="obeys no quotas"):
        STUDY.check(asked(TEAMS, "vision", policy="fifo"), TEAMS)

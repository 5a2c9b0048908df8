"""Banners about quotas: more than the nodes have, jobs of no queue, flavors without nodes."""

from dlsched.domain.queue_tree import Queue, QueueTree, Quota
from dlsched.wording.queues import queue_words, tree_cautions
from tests.support.quota_runs import TEAMS, scenario_of_teams


def words(**fields):
    tree = QueueTree(**(TEAMS.model_dump() | fields))
    return [one.text for one in tree_cautions(scenario_of_teams().replace(queues=tree))]


def test_nothing_to_say():
    assert words() == []
    assert tree_cautions(scenario_of_teams().replace(queues=None)) == []
    assert queue_words(TEAMS) == "2 queues in 1 cohort"


def test_quotas_above_the_nodes():
    more = {"vision": Queue(quota=(Quota(nominal=12),)), "language": Queue(quota=(Quota(nominal=8),))}
    assert words(tree=more) == ["Quotas add up to 20 GPUs; the nodes have 16."]


def test_jobs_of_no_queue():
    assert words(map="user") == ["4 jobs name no queue by user: (empty). Runs with quotas are refused."]
    assert words(tree={"vision": TEAMS.tree["vision"]}, unmapped="vision") == []
    assert words(tree={"vision": TEAMS.tree["vision"]}) == [
        "1 job names no queue by group: language. Runs with quotas are refused."
    ]

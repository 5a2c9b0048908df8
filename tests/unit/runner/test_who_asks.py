"""Users of one runner: results carry their names, they take turns, and none stops what another asked for."""

from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, cast

import pytest

from dlsched.domain.actor import NO_LOGIN, Actor
from dlsched.domain.errors import NotAllowed
from dlsched.domain.scenario import SimulationRules
from dlsched.runner import background
from dlsched.runner.background import Runner, RunTask, TaskState
from dlsched.runner.executor import WorkerPool
from dlsched.runner.queue import RunItem, in_turn
from dlsched.sim.simulate import Cancelled
from dlsched.store import Store
from tests.support.runs_for_store import small_scenario
from tests.support.waiting import PATIENCE_S, until


class Session:
    """Whose turn it is."""

    now = NO_LOGIN

    def who(self):
        return self.now


@pytest.fixture
def session():
    return Session()


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "s.duckdb") as opened:
        yield opened


@pytest.fixture
def runner(store, session):
    with ThreadPoolExecutor(1) as threads:
        made = Runner(store, lambda: WorkerPool(threads, 1, remote=False), session.who)
        yield made
        made.close()


def task(policy):
    return RunTask(small_scenario(options=SimulationRules(horizon_s=1e9)), policy)


def test_runs_carry_the_name_of_who_asked_though_others_are_there_when_they_end(runner, store, session):
    for name, policy in (("ann", "fifo"), ("ben", "sjf")):
        session.now = Actor(name)
        runner.submit([task(policy)])
    session.now = Actor("rita", may_write=False)
    assert runner.wait(PATIENCE_S)
    made = {row["policy"]: row["made_by"] for row in store.list_runs().to_dict("records")}
    assert made == {"fifo": "ann", "sjf": "ben"}


def test_a_reader_starts_and_stops_nothing(runner, store, session):
    session.now = Actor("rita", may_write=False)
    for call in (lambda: runner.submit([task("fifo")]), runner.cancel, runner.forget):
        with pytest.raises(NotAllowed, match="rita may read here, but not start or stop computations"):
            call()
    assert runner.status() == []
    assert store.list_runs().empty


def test_an_ended_runner_closes_whoever_looks(runner, session):
    session.now = Actor("rita", may_write=False)
    runner.close()


# ---- turns and owners ----------------------------------------------------------------------------------


class Gate:
    """An executor that holds tasks until they are let through, one at a time, and says in which order they came."""

    def __init__(self):
        self.names: list[str] = []
        self.calls: list[partial] = []
        self.futures: list[Future] = []

    def submit(self, function, order):
        self.names.append(order.name)
        self.calls.append(partial(function, order))
        self.futures.append(Future())
        return self.futures[-1]

    def let_through(self):
        self.futures[-1].set_exception(Cancelled())

    def shutdown(self, wait=True, cancel_futures=False):
        pass


@pytest.fixture
def gate():
    return Gate()


@pytest.fixture
def gated(session, gate):
    made = Runner(None, lambda: WorkerPool(gate, 1, remote=False), session.who)
    yield made
    made.close()


def ask(runner, session, owner, count):
    session.now = Actor(browser=owner)
    scenario = small_scenario()
    first = 1000 * ord(owner)
    return runner.submit(RunTask(scenario, "fifo", {}, first + at, f"{owner}{at}") for at in range(count))


def let_all_through(runner, gate, count):
    for done in range(count):
        until(partial(lambda wanted: len(gate.names) == wanted, done + 1))
        gate.let_through()
    assert runner.wait(PATIENCE_S)


def test_many_tasks_of_one_user_do_not_delay_the_first_of_another(gated, gate, session):
    ask(gated, session, "a", 500)
    (first,) = ask(gated, session, "b", 1)
    assert gated.status([first])[0].text == "Waiting"
    gate.let_through()
    until(lambda: len(gate.names) == 2)
    assert gate.names == ["a0", "b0"]


def test_users_take_turns_and_each_keeps_the_order(gated, gate, session):
    for owner, count in (("a", 4), ("b", 2), ("c", 1)):
        ask(gated, session, owner, count)
    let_all_through(gated, gate, 7)
    assert gate.names == ["a0", "b0", "c0", "a1", "b1", "a2", "a3"]


def test_the_last_result_of_a_user_is_stored_at_once_though_others_go_on(store, gate, session, monkeypatch):
    monkeypatch.setattr(background, "TOGETHER_S", 10 * PATIENCE_S)

    def end(number):
        gate.futures[number].set_result(gate.calls[number]())

    runner = Runner(store, lambda: WorkerPool(gate, 2, remote=False), session.who)
    session.now = Actor(browser="a")
    many = runner.submit([task("fifo"), task("sjf"), task("las")])
    session.now = Actor(browser="b")
    (only,) = runner.submit([task("srtf")])
    end(0)  # one of three: the others may come with it
    until(lambda: len(gate.names) == 3)
    assert gate.names == ["FIFO", "SJF", "SRTF"]
    assert runner.status(many)[0].state is TaskState.DONE
    end(2)  # all that b asked for
    until(lambda: runner.status([only])[0].state is TaskState.STORED)
    assert [status.state for status in runner.status(many)][1:] == [TaskState.RUNNING] * 2
    for number in (1, 3):
        end(number)
    assert runner.wait(PATIENCE_S)
    runner.close()


def test_what_is_told_to_be_ahead_is_what_comes_first(gated, gate, session):
    ids = [one for owner, count in (("a", 3), ("b", 2), ("c", 2)) for one in ask(gated, session, owner, count)]
    texts = {status.name: status.text for status in gated.status(ids)}
    let_all_through(gated, gate, 7)
    for ahead, name in enumerate(gate.names[1:]):
        assert texts[name] == (f"Waiting, {ahead} ahead of it" if ahead else "Waiting")


def test_places_are_told_anew_whenever_the_queue_changes(gated, gate, session):
    def told() -> list[str]:
        waiting = [status for status in gated.status() if status.state is TaskState.QUEUED]
        return [one.name for one in sorted(waiting, key=lambda one: int(one.text[9:-12].replace(",", "") or 0))]

    ask(gated, session, "a", 4)
    assert told() == ["a1", "a2", "a3"]
    ids = ask(gated, session, "b", 3)
    assert told() == ["b0", "a1", "b1", "a2", "b2", "a3"]
    gated.cancel(ids[1:2])
    assert told() == ["b0", "a1", "b2", "a2", "a3"]
    gate.let_through()
    until(lambda: len(gate.names) == 2)
    assert told() == ["a1", "b2", "a2", "a3"]
    ask(gated, session, "c", 1)
    assert told() == ["c0", "a1", "b2", "a2", "a3"]
    assert [status.name for status in gated.status(mine=True)] == ["c0"]


def test_the_user_with_the_fewest_workers_is_next():
    waiting = [RunItem(name, owners={name[0]}, task=cast("Any", None)) for name in ("a2", "a3", "b0", "b1")]
    order = [item.name for _, item in in_turn(waiting, {"a": 2}, {"a": 2})]
    assert order == ["b0", "b1", "a2", "a3"]


def test_a_task_of_two_users_comes_when_the_first_of_them_has_a_turn():
    waiting = [RunItem("a0", owners={"a"}, task=cast("Any", None)), RunItem("a1", owners={"a"}, task=cast("Any", None))]
    both = RunItem("both", owners={"a", "b"}, task=cast("Any", None))
    assert [item.name for _, item in in_turn([*waiting, both], {}, {})] == ["a0", "both", "a1"]


def test_no_user_stops_or_forgets_what_another_asked_for(gated, gate, session):
    own = ask(gated, session, "a", 2)
    others = ask(gated, session, "b", 2)
    gated.cancel(own)
    gated.cancel()
    states = {status.name: (status.state, status.mine) for status in gated.status()}
    assert states["a0"] == (TaskState.RUNNING, False)
    assert states["a1"] == (TaskState.QUEUED, False)
    assert states["b0"] == states["b1"] == (TaskState.CANCELLED, True)
    session.now = Actor(browser="a")
    gated.forget(others)
    gated.forget()
    assert len(gated.status(others)) == 2
    session.now = Actor(browser="b")
    gated.forget()
    assert [status.name for status in gated.status()] == ["a0", "a1"]


def test_a_task_that_two_users_asked_for_goes_on_until_both_have_cancelled_it(gated, gate, session):
    ids = {}
    for name in ("ann", "ben"):
        session.now = Actor(name)
        (ids[name],) = gated.submit([task("fifo")])
    assert ids["ann"] == ids["ben"]
    gated.cancel([ids["ben"]])
    (status,) = gated.status([ids["ben"]])
    assert (status.state, status.mine, status.asked_by) == (TaskState.RUNNING, False, "ann")
    session.now = Actor("ann")
    gated.cancel([ids["ann"]])
    assert gated.status([ids["ann"]])[0].state is TaskState.CANCELLED


def test_what_was_over_long_ago_is_forgotten_without_its_owner(gated, session, monkeypatch):
    session.now = Actor(browser="gone")
    gated.submit([task("no-such-policy")])
    session.now = Actor(browser="here")
    gated.submit([task("no-such-policy")])
    assert len(gated.status()) == 2
    monkeypatch.setattr(background, "REMEMBERED_S", -1.0)
    gated.submit([task("no-such-policy")])
    assert [status.mine for status in gated.status()] == [True, True]


def test_a_runner_whose_process_ends_starts_nothing_more_and_takes_in_nothing(gated, gate, session, caplog):
    ids = ask(gated, session, "a", 3)
    background.stop_all()
    gate.futures[-1].set_exception(RuntimeError("cannot schedule new futures after interpreter shutdown"))
    until(lambda: not gated._thread.is_alive())
    assert gate.names == ["a0"]
    assert [status.state for status in gated.status(ids)] == [TaskState.RUNNING, *[TaskState.QUEUED] * 2]
    assert not caplog.records

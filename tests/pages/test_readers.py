"""Readers: every page opens and shows what there is, says that it is for reading, and writes nothing."""

import pytest

from dlsched.access.config import PATH_VARIABLE, Access
from dlsched.domain.actor import Actor
from dlsched.domain.errors import NotAllowed
from dlsched.domain.scenario import SimulationRules
from dlsched.store.record import RunLabel
from dlsched.studies.simulation import simulate
from dlsched.ui.frame import identity, session
from dlsched.ui.frame.navigation import ADDRESSES, FOLDER, SCRIPTS
from tests.support.runs_for_store import record, small_scenario
from tests.support.store_rows import rows_of

LINE = "You may read here, not change"


@pytest.fixture
def as_reader(store, monkeypatch):
    """A store with runs of a planner, then the session of a reader."""
    scenario = small_scenario(options=SimulationRules(horizon_s=1e9))
    for policy in ("fifo", "sjf"):
        store.acting(Actor("anna")).save_run(simulate(scenario, policy).record())
    store.mark_running([RunLabel("gone", scenario.content_hash, scenario.name, "las", {}, 0)])
    with store._cursors.one() as cursor:
        cursor.execute("UPDATE active_runs SET session = 'another'")
    monkeypatch.setattr(identity, "actor", lambda: Actor("rita", may_write=False))
    return store


def _rows(store):
    with store._cursors.one() as cursor:
        return rows_of(cursor)


def texts(app):
    return " ".join(str(part.value) for part in (*app.markdown, *app.error, *app.warning, *app.info))


@pytest.mark.parametrize("title", SCRIPTS)
def test_every_page_opens_for_a_reader_and_nothing_is_written(title, as_reader, open_page, runner):
    before = _rows(as_reader)
    app = open_page(SCRIPTS[title].removeprefix(f"{FOLDER}/"))
    assert not app.exception, app.exception
    assert LINE in texts(app)
    assert _rows(as_reader) == before
    assert runner.status() == runner.questions() == []


@pytest.mark.parametrize(
    ("title", "key"),
    [
        ("Home", "run-demo"),
        ("Home", "bar-duplicate"),
        ("Home", "bar-delete"),
        ("Home", "bar-rename"),
        ("Run", "run-now"),
        ("Cluster", "save-cluster"),
        ("Prices", "price-add"),
        ("Prices", "use-prices"),
    ],
)
def test_a_control_that_writes_is_disabled_with_the_reason(title, key, as_reader, open_page):
    app = open_page(SCRIPTS[title].removeprefix(f"{FOLDER}/"))
    button = app.button(key=key)
    assert button.disabled
    assert LINE in button.help


def test_a_click_that_comes_all_the_same_writes_nothing(as_reader, open_page, runner):
    """A disabled button is a courtesy of the page; what comes over the wire does not ask for it."""
    before = _rows(as_reader)
    for script, key in (
        ("home/home.py", "run-demo"),
        ("home/home.py", "bar-duplicate"),
        ("home/home.py", "bar-delete"),
        ("simulate/run.py", "run-now"),
    ):
        app = open_page(script)
        app.button(key=key).proto.disabled = False
        app.button(key=key).click().run()
        assert not app.exception
    assert _rows(as_reader) == before
    assert runner.status() == []


@pytest.mark.parametrize(
    ("title", "link"),
    [
        ("What if", {"set": "demand:1.3"}),
        ("What if", {"set": "nodes:+1", "do": "apply"}),
        ("Capacity", {"part": "Size", "condition": "demand:1.3"}),
        ("Capacity", {"part": "Range", "preset": "pool-size"}),
        ("Run", {"part": "History"}),
        ("Run", {"policies": "fifo,las,sjf"}),
        ("Jobs", {"source": "Generate"}),
        ("Jobs", {"source": "Sample"}),
        ("Jobs", {"source": "Upload"}),
        ("Jobs", {"part": "What happened"}),
        ("Jobs", {"part": "Trust"}),
        ("Run details", {"part": "Inside"}),
        ("Home", {"scenario": "ffffffff"}),
        ("Home", {"term": "wait"}),
        ("Memo", {"runs": "nothere"}),
        ("Capacity", {"experiment": "nothere"}),
    ],
)
def test_links_make_no_reader_a_writer(title, link, as_reader, open_page, runner):
    before = _rows(as_reader)
    app = open_page(SCRIPTS[title].removeprefix(f"{FOLDER}/"), **link)
    assert not app.exception, app.exception
    assert _rows(as_reader) == before
    assert runner.status() == runner.questions() == []


def test_a_reader_of_an_empty_store_is_told_so(store, monkeypatch, open_page):
    monkeypatch.setattr(identity, "actor", lambda: Actor("rita", may_write=False))
    app = open_page("home/home.py")
    assert not app.exception
    assert "There is nothing to read here yet" in texts(app)


def test_users_of_a_login_start_with_their_own_scenario(store, monkeypatch, runner):
    first, second = (store.save_scenario(small_scenario(size)).scenario_hash for size in (4, 5))
    for name, seen in (("anna", first), ("ben", second)):
        monkeypatch.setattr(identity, "actor", lambda name=name: Actor(name))
        session.look_at(seen)
    for name, seen in (("anna", first), ("ben", second), ("rita", second)):
        monkeypatch.setattr(identity, "actor", lambda name=name: Actor(name))
        assert session.start_scenario().scenario_hash == seen


def test_the_store_of_a_session_is_in_the_hands_of_its_user(store, monkeypatch):
    monkeypatch.setattr(identity, "actor", lambda: Actor("rita", may_write=False))
    with pytest.raises(NotAllowed, match="rita may read here"):
        session.store().set_setting("x", 1)
    monkeypatch.setattr(identity, "actor", lambda: Actor("anna"))
    run_id = session.store().save_run(record())
    assert session.store().run_info(run_id).made_by == "anna"


@pytest.mark.parametrize("login", ["header", "oidc"])
def test_without_a_name_there_is_no_page(login, store, monkeypatch, open_page):
    store.save_run(record())
    rules = Access.model_validate({"login": login, "proxies": ["127.0.0.1"], "others": "planner"})
    monkeypatch.setattr(identity, "access", lambda: rules)
    monkeypatch.setenv(identity.FORWARDED_VARIABLE, "")
    app = open_page("results/compare.py")
    assert not app.exception
    assert [one.value for one in app.title] == ["Sign in"]
    assert not app.dataframe
    with pytest.raises(identity.NotSignedIn):
        session.store()


def test_a_login_that_is_not_set_up_is_said(store, monkeypatch, open_page):
    rules = Access.model_validate({"login": "oidc", "others": "planner"})
    monkeypatch.setattr(identity, "access", lambda: rules)
    app = open_page("home/home.py").button(key="sign-in").click().run()
    assert not app.exception
    assert "Signing in is not set up on this server" in texts(app)


def test_no_header_is_believed_where_the_server_believes_forwarded_addresses(store, monkeypatch, open_page):
    rules = Access.model_validate({"login": "header", "proxies": ["127.0.0.1"], "others": "planner"})
    monkeypatch.setattr(identity, "access", lambda: rules)
    monkeypatch.delenv(identity.FORWARDED_VARIABLE, raising=False)
    app = open_page("home/home.py")
    assert "works only if the server is started with dlsched app" in texts(app)


def test_a_wrong_config_file_is_said_on_the_page(store, tmp_path, monkeypatch, open_page):
    (tmp_path / "team.toml").write_text('[access]\nlogin = "ldap"\n')
    monkeypatch.setenv(PATH_VARIABLE, str(tmp_path / "team.toml"))
    app = open_page("home/home.py")
    assert "login" in texts(app)
    assert "ldap" in texts(app)
    assert not app.button


def test_exposed_without_a_login_is_said_in_red_on_every_page(store, monkeypatch, open_page):
    import streamlit as st

    address = st.get_option("server.address")
    assert address == "127.0.0.1"
    assert not [one for one in open_page("home/home.py").error if "no login" in one.value]
    monkeypatch.setattr(identity, "access", lambda: Access())
    monkeypatch.setattr(st, "get_option", lambda name: "0.0.0.0" if name == "server.address" else address)
    for script in ("home/home.py", "plan/memo.py"):
        assert [one for one in open_page(script).error if "There is no login" in one.value]


def test_every_address_is_in_the_walk():
    assert set(ADDRESSES) == set(SCRIPTS)

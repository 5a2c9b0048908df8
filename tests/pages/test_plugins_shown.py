"""Policies of plug-ins on the pages: chosen, run, said where they come from, and what cannot be used."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dlsched.policies import registry
from dlsched.studies.simulation import simulate
from tests.support.plugin_package import MODULE, installed, write_distribution, write_package
from tests.support.runs_for_store import small_scenario


@pytest.fixture
def package(tmp_path) -> Iterator[None]:
    bare = MODULE.replace("    kernel_rule = None\n", "").replace("    review = ReviewRule()\n", "")
    write_package(tmp_path / "site", module=bare)
    (tmp_path / "site" / "bad.py").write_text("raise RuntimeError('no licence')")
    write_distribution(tmp_path / "site", "bad", "2.0", {"dlsched.policies": "bad = bad:SPEC"})
    with installed(tmp_path / "site"):
        yield


def text_of(app) -> str:
    return "\n".join(part.value for part in app.markdown).replace("\\", "")


@pytest.mark.usefixtures("package")
def test_the_page_run_shows_where_a_policy_comes_from(open_page, store):
    saved = store.save_scenario(small_scenario())
    app = open_page("simulate/run.py", scenario=saved.scenario_hash[:8], policies="fifo,mine")
    assert not app.exception
    text = text_of(app)
    assert "Needs no run-time estimates. From mypkg 1.0." in text
    assert "My policy from mypkg 1.0" in text
    app = app.button(key="more-policies").click().run()
    assert not app.exception
    assert app.checkbox(key="more-mine").value
    assert [one.label for one in app.expander if "plug-in" in one.label] == ["1 plug-in cannot be used"]
    assert "importing it raised RuntimeError: no licence" in text_of(app)


def test_a_run_says_its_plugin_also_when_that_is_gone(open_page, store, package):
    scenario = small_scenario()
    record = simulate(scenario, "mine").record()
    run_id, other = store.save_run(record), store.save_run(simulate(scenario, "fifo").record())
    app = open_page("results/run_details.py", run=run_id)
    assert not app.exception
    assert "My policy from mypkg 1.0" in text_of(app)
    for catalogue in (registry._OUTSIDE,):
        catalogue.forget()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dlsched.plugins.catalogue.points_of", lambda group: iter(()))
        for page, given in {
            "results/run_details.py": {"run": run_id},
            "results/compare.py": {"runs": f"{run_id},{other}", "base": other},
            "home/home.py": {},
            "simulate/run.py": {"scenario": scenario.content_hash[:8], "policies": "fifo,mine"},
        }.items():
            app = open_page(page, **given)
            assert not app.exception, page
            assert "My policy" not in text_of(app), page

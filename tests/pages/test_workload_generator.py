"""Jobs of a mix on the page Jobs: arrival patterns, classes, mistakes in them."""

from typing import Any

import pytest

PATTERNS = [
    "Steady (Poisson)",
    "Daily rhythm",
    "Bursts",
    "Batches",
    "Hours of the current jobs",
    "Gaps of the current jobs",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_arrival_pattern_is_previewed_and_kept(open_page, store, pattern):
    app = open_page("scenario/jobs.py", source="Generate")
    app = app.selectbox(key="gen-pattern").set_value(pattern).run()
    assert not app.exception
    assert not app.error
    assert list(store.list_scenarios()["name"]) == ["Demo"]  # a preview saves nothing
    app = app.button(key="use-jobs").click().run()
    assert app.title[0].value == "Cluster"
    newest = store.list_scenarios().iloc[0]
    assert (newest["name"], newest["data_kind"], newest["jobs"]) == ("Job mix", "generated", 1200)


def edited(app, row: int, **cells):
    app.session_state["gen-classes-0"] = {"edited_rows": {row: cells}, "added_rows": [], "deleted_rows": []}
    return app.run()


MISTAKES: dict[str, tuple[dict[str, Any], str, str]] = {
    "share empty": ({"share": None}, "class row 1, column Share", "is empty"),
    "negative share": ({"share": -1.0}, "class row 1, column Share", "greater than 0"),
    "no GPUs": ({"gpus": ""}, "class row 1, column GPUs", "at least 1 item"),
    "half a GPU too many": ({"gpus": "1.5"}, "class row 1, column GPUs", "must be whole"),
    "text for GPUs": ({"gpus": "many"}, "class row 1, column GPUs", "valid number"),
    "p90 below median": ({"p90 min": 1.0}, "class row 1, column Run time", "at least the median"),
    "no median": ({"median min": None}, "class row 1, column Median (min)", "is empty"),
    "zero median": ({"median min": 0.0}, "class row 1, column Median (min)", "greater than 0"),
    "due range": ({"due from x": 9.0}, "class row 1, column Due to (x)", "at least low"),
    "same name": ({"class": "train"}, "generator", "two classes are called 'train'"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistake_in_a_class_names_row_and_column(open_page, case):
    cells, where, why = MISTAKES[case]
    app = edited(open_page("scenario/jobs.py", source="Generate"), 0, **cells)
    assert not app.exception
    assert len(app.error) == 1
    text = app.error[0].value.replace("\\", "")
    assert where in text
    assert why in text
    assert app.button(key="use-none").disabled


def test_mix_without_classes_or_with_all_shares_zero_is_refused(open_page):
    app = open_page("scenario/jobs.py", source="Generate")
    app.session_state["gen-classes-0"] = {"edited_rows": {}, "added_rows": [], "deleted_rows": [0, 1, 2]}
    assert "has no class of jobs" in app.run().error[0].value
    zero = {row: {"share": 0.0} for row in range(3)}
    app.session_state["gen-classes-0"] = {"edited_rows": zero, "added_rows": [], "deleted_rows": []}
    assert "all shares are 0" in app.run().error[0].value


def test_class_with_share_zero_is_left_out_and_empirical_times_come_from_the_jobs(open_page):
    app = edited(open_page("scenario/jobs.py", source="Generate"), 2, share=0.0)
    assert not app.error
    assert "32" not in next(card for card in app.metric if card.label == "Largest job").value
    app = edited(app, 0, **{"run time": "as current jobs"})
    assert not app.exception
    assert not app.error


def test_form_is_as_it_was_when_the_page_was_left(open_page):
    app = edited(open_page("scenario/jobs.py", source="Generate"), 0, share=11.0)
    app = app.number_input(key="gen-jobs").set_value(300).run()
    app = app.switch_page("pages/scenario/cluster.py").run()
    app = app.switch_page("pages/scenario/jobs.py").run()
    app = app.segmented_control(key="source").set_value("Generate").run()
    assert not app.exception
    assert app.button(key="use-jobs").label == "Use these 300 jobs"
    assert app.session_state["gen-classes-now"]["share"].tolist() == [11.0, 37.0, 8.0]

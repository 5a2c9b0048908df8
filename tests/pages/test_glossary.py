"""The glossary: a drawer that opens at a term over any page, by a link, the sidebar, or an old address."""

import pytest

from dlsched.metrics.kpi import KPIS
from dlsched.ui.frame import glossary
from dlsched.ui.frame.navigation import OLD_ADDRESSES, SCRIPTS
from tests.support.page_text import shown

PAGE = "scenario/cluster.py"


def test_it_is_closed_until_it_is_asked_for_and_has_no_page(open_page):
    app = open_page(PAGE)
    assert not [box for box in app.text_input if box.label == "Find a word"]
    assert "Glossary" not in SCRIPTS
    app = app.button(key="open-glossary").click().run()
    assert not app.exception
    assert app.query_params["term"] in ("", [""])
    text = shown(app)
    assert all(term.word in text for term in glossary.terms())
    assert all(kpi.label in text for kpi in KPIS.values())
    assert app.title[0].value == "Cluster"


def test_a_link_opens_it_at_a_term_and_the_search_goes_on_from_there(open_page):
    app = open_page(PAGE, term="backfill")
    assert not app.exception
    assert app.text_input(key="glossary-find-backfill").value == "backfill"
    text = shown(app)
    assert "Short jobs fill holes in the schedule" in text
    assert "Poisson" not in text
    assert "Saved progress" not in text
    app = app.text_input(key="glossary-find-backfill").set_value("checkpoint, no such word").run()
    assert "Saved progress" in shown(app)
    app = app.text_input(key="glossary-find-backfill").set_value("<b>no such word</b>").run()
    assert "Nothing here matches “<b>no such word</b>”" in shown(app)


def test_the_old_page_leads_to_the_drawer():
    assert OLD_ADDRESSES["glossary"].query({}) == {"term": ""}


def test_lines_named_by_a_word_stand_before_lines_that_only_mention_it():
    found = glossary.matching(glossary.terms(), "Future")
    assert found[0].word == "Future"
    assert len(found) > 1
    assert glossary.matching(glossary.terms(), "") == list(glossary.terms())
    assert {line.word for line in glossary.matching(glossary.terms(), "knee , makespan")} >= {"Knee", "Makespan"}


@pytest.mark.parametrize(
    ("sentence", "names"),
    [
        ("Backfill cuts the p95 wait in 20 of 21 futures.", ["backfill", "p95 wait"]),
        ("Two more nodes cost $87,600 more a month.", []),
        ("Headrooms, makespans, bounds, knees and utility.", ["headroom", "makespan"]),
        ("EASY backfills: [x](http://y)", ["backfill"]),
    ],
)
def test_terms_in_a_sentence_are_offered_longest_first_in_its_order(sentence, names):
    assert glossary.found_in(sentence) == names


def test_words_are_listed_once_and_in_order():
    words = [term.word.lower() for term in glossary.terms()]
    assert words == sorted(set(words))

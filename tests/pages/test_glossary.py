"""The Glossary page: all words and numbers, and the search."""

from dlsched.metrics.kpi import KPIS
from dlsched.ui.frame.glossary import terms


def test_all_words_and_the_search(open_page):
    app = open_page("help/glossary.py")
    assert not app.exception
    assert app.header[0].value.startswith(f"{len(terms())} words and {len(KPIS)} numbers")
    assert len(app.table[0].value) == len(terms())
    assert len(app.table[1].value) == len(KPIS)
    app = app.text_input(key="glossary-find").set_value("Backfill").run()
    assert 0 < len(app.table[0].value) < len(terms())
    app = app.text_input(key="glossary-find").set_value("no such word").run()
    assert any("Nothing here matches" in part.value for part in app.markdown)

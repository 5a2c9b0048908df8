"""The server that serves the pages."""

from streamlit.runtime.scriptrunner import script_runner

from dlsched.ui.serve import COLLECT_EVERY_S, SeldomCollected


def test_all_garbage_is_collected_seldom() -> None:
    class Ring:
        def __init__(self) -> None:
            self.own = self

    now_s = [100.0]
    stands_in = SeldomCollected(lambda: now_s[0])
    stands_in.collect(2)
    Ring()
    now_s[0] += COLLECT_EVERY_S - 0.1
    assert stands_in.collect(2) == 0
    now_s[0] += 0.2
    assert stands_in.collect(2) > 0


def test_streamlit_still_collects_where_it_is_replaced() -> None:
    """Where a later Streamlit does not, the class is to go."""
    assert {"gc", "collect"} <= {*script_runner.ScriptRunner._on_script_finished.__code__.co_names}

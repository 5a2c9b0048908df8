"""Host lists: what they stand for, what is refused, and back again."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.workload.hostlist import compress, expand, in_order


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),
        ("None assigned", []),
        ("(null)", []),
        ("gpu7", ["gpu7"]),
        ("login, gpu7,", ["login", "gpu7"]),
        ("c[08-10]", ["c08", "c09", "c10"]),
        ("c[8-10]", ["c8", "c9", "c10"]),
        ("c[1,3-4,09]", ["c1", "c3", "c4", "c09"]),
        ("c[2-9:3]-ib", ["c2-ib", "c5-ib", "c8-ib"]),
        ("r[1-2]n[01-02]", ["r1n01", "r1n02", "r2n01", "r2n02"]),
        ("big1,c[1-2],c[1-2]", ["big1", "c1", "c2", "c1", "c2"]),
        ("[1-2].local", ["1.local", "2.local"]),
    ],
)
def test_expand(text: str, names: list[str]) -> None:
    assert expand(text) == names


@pytest.mark.parametrize(
    "text",
    [
        "c[1-",
        "c]1[",
        "c[5-3]",
        "c[x-y]",
        "c[]",
        "c[1,]",
        "c[1-3",
        "c[1[2]]",
        "c1]",
        "c[1-2:0]",
        "c[-3]",
        "c 1",
        "c[1-2] d",
        "c[1-999999999]",
        "c[1-999][1-999]",
        "c[1-150000],d[1-150000]",
        f"c[{'9' * 5000}]",
        "c" * 300,
        f"{'c' * 254}[1-20]",
        f"c[{'1-' * 50_000}",
        "c[１-２]",
    ],
)
def test_what_is_no_host_list_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="host list"):
        expand(text)


def test_a_limit_of_names_holds_for_the_whole_list() -> None:
    assert len(expand("a,b[1-3]", most=4)) == 4
    with pytest.raises(InputError, match="too many"):
        expand("a,b[1-3]", most=3)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["gpu7"], "gpu7"),
        (["c10", "c9", "c8", "c8"], "c[8-10]"),
        (["c08", "c09", "c10", "c12"], "c[08-10,12]"),
        (["c1", "c01", "c2", "c02"], "c[1,01,2,02]"),
        (["r1n1", "r1n2", "r2n1", "login"], "login,r1n[1-2],r2n1"),
        (["a1-ib0", "a2-ib0", "a3-ib0"], "a[1-3]-ib0"),
        (["c099", "c100"], "c[099-100]"),
    ],
)
def test_compress(names: list[str], text: str) -> None:
    assert compress(names) == text


@pytest.mark.parametrize("name", ["", "a b", "a,b", "a[1]", "x" * 256])
def test_what_is_no_name_is_not_compressed(name: str) -> None:
    with pytest.raises(InputError, match="host list"):
        compress([name])


NAMES = st.text("ab0123456789-.", min_size=1, max_size=8).filter(lambda name: name.lower() not in {"none", "n/a"})


@given(st.lists(st.one_of(NAMES, st.builds("n{:02d}".format, st.integers(0, 120)))))
def test_expand_undoes_compress(names: list[str]) -> None:
    assert expand(compress(names)) == in_order(names)


@given(st.text("ab[]0123456789-,: ", max_size=40))
def test_any_text_is_expanded_or_refused(text: str) -> None:
    try:
        names = expand(text, most=50)
    except InputError:
        return
    assert len(names) <= 50
    assert expand(compress(names)) == in_order(names)


def test_known_host_lists(shared_data: Path) -> None:
    vectors = json.loads((shared_data / "slurm" / "hostlist.json").read_text())
    for case in vectors["cases"]:
        assert expand(case["text"]) == case["nodes"], case["text"]
    for text in vectors["errors"]:
        with pytest.raises(InputError):
            expand(text)

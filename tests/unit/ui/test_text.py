import pytest

from dlsched.ui.frame.text import dollars, safe


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        pytest.param("train_bert", r"train\_bert", id="underscores are not italics"),
        pytest.param("[click](http://x)", "\\[click\\]\\(http\\:\u2060//x\\)", id="no links"),
        pytest.param("HTTPS://x WWW.x a@x", "HTTPS\\:\u2060//x WWW\u2060\\.x a@\u2060x", id="nor from bare addresses"),
        pytest.param("a\u2060b", "a b", id="joiners are ours"),
        pytest.param("<script>alert(1)</script>", r"\<script\>alert\(1\)\</script\>", id="no HTML"),
        pytest.param(":red[late]", r"\:red\[late\]", id="no colours or badges"),
        pytest.param("$x$", r"\$x\$", id="no formulas"),
        pytest.param("a\nb\u202ec", "a b c", id="no line breaks or reversed text"),
    ],
)
def test_user_text_is_shown_letter_by_letter(raw: str, shown: str) -> None:
    assert safe(raw) == shown


def test_long_text_is_cut() -> None:
    assert safe("x" * 100, longest=10) == "x" * 9 + "…"


def test_dollar_signs_of_our_own_sentences_start_no_formula() -> None:
    assert dollars("from $3 to $5") == r"from \$3 to \$5"


def test_a_part_that_is_safe_already_is_not_escaped_twice() -> None:
    assert dollars(f"A node {safe('$2.10/h')} costs $3") == "A node \\$2\\.10/h costs \\$3"

"""Our own CSV form: round trip, other people's headers, and one message for each mistake."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.ui.frame.charts import csv
from dlsched.workload.prices.price_file import OWN, read_prices, to_frame
from dlsched.workload.prices.price_list import Offer

HEADER = b"name,gpu_type,gpus,usd_per_h\n"
NAMES = st.text(st.characters(blacklist_categories=("C", "Z")), min_size=1, max_size=12)


def file(*lines: str, header: bytes = HEADER) -> bytes:
    return header + "\n".join(lines).encode()


@given(
    st.lists(
        st.builds(
            Offer, name=st.one_of(NAMES, st.sampled_from(["=1+1", "+x", "-y", "@z", 'a,"b', "'=q"])), provider=NAMES,
            gpu_type=NAMES, gpus=st.integers(0, 64), usd_per_h=st.floats(0.001, 1e5), cpus=st.none(),
            disk_gib=st.none() | st.floats(0, 1e5),
            spot_usd_per_h=st.none() | st.floats(0.001, 1e5), use=st.booleans(),
            as_of=st.none() | st.dates(date(2000, 1, 1), date(2050, 1, 1)), source=st.sampled_from(["", "a, b", "x"]),
        ),
        min_size=1, max_size=6, unique_by=lambda offer: offer.name,
    )
)  # fmt: skip
def test_round_trip_with_formulas_tamed(offers):
    text = csv(to_frame(offers))
    if not any(offer.name.startswith("'") or offer.provider.startswith("'") or offer.gpu_type.startswith("'")
               for offer in offers):  # fmt: skip
        assert read_prices(text, "mine.csv").offers == tuple(offers)
    for line in text.decode().splitlines()[1:]:
        assert not line.startswith(("=", "+", "-", "@"))


def test_headers_of_others_are_understood(shared_data):
    read = read_prices(shared_data / "gpuaas" / "GPU-cost.csv")
    assert len(read.offers) == 11
    assert (read.offers[3].name, read.offers[3].gpus, read.offers[3].usd_per_h) == ("Standard_NC24X", 8, 4.48)
    assert (read.format, read.report.kept) == (OWN, 11)


def test_semicolons_comments_and_dollar_signs():
    read = read_prices(b"# ours\nName;GPU;GPUs;Price;Date\nbox;A100;8;$16.80;2026-03-01\n\n", "x.csv")
    (offer,) = read.offers
    assert (offer.usd_per_h, offer.as_of, offer.use) == (16.8, date(2026, 3, 1), True)


MISTAKES = {
    "no rows": (file(), "only a header and no data rows"),
    "no price": (file("a,T4,1,"), "line 2, column usd_per_h: is empty"),
    "price 0": (file("a,T4,1,1", "b,T4,1,0"), "line 3, usd_per_h: Input should be greater than 0, got '0'"),
    "negative price": (file("a,T4,1,-2"), "line 2, usd_per_h: Input should be greater than 0, got '-2'"),
    "text price": (file("a,T4,1,cheap"), "line 2, usd_per_h: .*got 'cheap'"),
    "infinite price": (file("a,T4,1,inf"), "line 2, usd_per_h"),
    "half a GPU": (file("a,T4,0.5,1"), "line 2, gpus"),
    "one name twice": (file("a,T4,1,1", "b,T4,1,1", "a,L4,1,1"), "line 4, column name: 'a' is also the name in line 2"),
    "missing column": (b"name,gpus\na,1\n", "missing columns: gpu_type, usd_per_h"),
    "bad date": (b"name,gpu_type,gpus,usd_per_h,as_of\na,T4,1,1,soon\n", "line 2, as_of"),
    "not CSV": (b"PAR1" + b"\0" * 20, "Parquet"),
    "empty": (b"", "it is empty"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistake_names_line_and_rule(case):
    content, message = MISTAKES[case]
    with pytest.raises(InputError, match=message):
        read_prices(content, "mine.csv")


def test_mixed_currencies_name_the_lines():
    content = file("a,T4,1,1,USD", "b,T4,1,1,EUR", "c,T4,1,1,eur", header=HEADER.replace(b"\n", b",currency\n"))
    with pytest.raises(InputError, match=r"they are mixed: EUR in line 3, 4; USD in line 2\. Convert all"):
        read_prices(content, "mine.csv")
    with pytest.raises(InputError, match=r"EUR in line 2; USD in line 3"):
        read_prices(file("a,T4,1,€1", "b,T4,1,2"), "mine.csv")
    with pytest.raises(InputError, match="all prices are in GBP, but the planner uses USD"):
        read_prices(file("a,T4,1,£1"), "mine.csv")


def test_too_long_a_list_is_refused():
    with pytest.raises(InputError, match=r"more than 10,000 lines"):
        read_prices(file(*(f"n{number},T4,1,1" for number in range(10_001))), "long.csv")

"""SkyPilot catalogues: any order of columns, what is dropped and why, regions and zones, hostile cells, size."""

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.workload.prices.price_file import SKYPILOT, read_prices
from dlsched.workload.prices.skypilot import gpu_info

COLUMNS = ("InstanceType", "AcceleratorName", "AcceleratorCount", "vCPUs", "MemoryGiB", "GpuInfo", "Price", "SpotPrice",
           "Region", "AvailabilityZone")  # fmt: skip
INFO = "{'Gpus': [{'Name': 'A100', 'Manufacturer': 'NVIDIA', 'Count': 8, 'MemoryInfo': {'SizeInMiB': 40960}}]}"
BOX = {"InstanceType": "box", "AcceleratorName": "A100", "AcceleratorCount": "8.0", "vCPUs": "96.0",
       "MemoryGiB": "1152.0", "GpuInfo": INFO, "Price": "10.0", "SpotPrice": "3.0", "Region": "r1",
       "AvailabilityZone": "r1a"}  # fmt: skip


def file(*rows: dict[str, str], columns=COLUMNS) -> bytes:
    lines = [",".join(columns)]
    lines += [",".join(f'"{row[name]}"' if row[name] else "" for name in columns) for row in rows]
    return "\n".join(lines).encode()


def counts(read) -> dict[str, int]:
    return {finding.reason: finding.count for finding in read.report.findings}


def test_one_machine_is_read_whole():
    read = read_prices(file(BOX), "vms.csv")
    (offer,) = read.offers
    assert offer.model_dump(exclude={"source"}) == {
        "name": "box", "provider": "", "gpu_type": "A100", "gpus": 8, "cpus": 96.0, "mem_gib": 1152.0, "disk_gib": None,
        "usd_per_h": 10.0, "spot_usd_per_h": 3.0, "region": "r1", "as_of": None, "use": True,
    }  # fmt: skip
    assert offer.source == "SkyPilot vms.csv, cheapest region of each type"
    assert (read.format, read.regions, counts(read)) == (SKYPILOT, {"r1": 1}, {})


def test_sample_of_the_format(shared_data):
    read = read_prices(shared_data.parent / "formats" / "samples" / "catalogue" / "skypilot_vms.csv")
    assert [offer.name for offer in read.offers] == ["example-8xa"]
    assert counts(read) == {"no accelerator: CPU only": 1}


@given(st.permutations(COLUMNS))
def test_order_of_columns_does_not_matter(columns):
    rows = [BOX, {**BOX, "InstanceType": "two", "AcceleratorCount": "2", "GpuInfo": "", "SpotPrice": ""}]
    assert read_prices(file(*rows, columns=columns), "v.csv").offers == read_prices(file(*rows), "v.csv").offers


def test_what_is_dropped_is_counted_by_reason():
    rows = [
        BOX,
        {**BOX, "InstanceType": "", "AcceleratorName": "tpu-v4-8"},
        {**BOX, "InstanceType": "t", "AcceleratorName": "TPU-v5"},
        {**BOX, "InstanceType": "cpu", "AcceleratorName": "", "AcceleratorCount": "", "GpuInfo": ""},
        {**BOX, "InstanceType": "part", "AcceleratorCount": "0.125"},
        {**BOX, "InstanceType": "none", "AcceleratorCount": "-1"},
        {**BOX, "InstanceType": "word", "AcceleratorCount": "eight"},
        {**BOX, "InstanceType": "unpriced", "Price": ""},
        {**BOX, "InstanceType": "free", "Price": "0"},
    ]
    read = read_prices(file(*rows), "vms.csv")
    assert [offer.name for offer in read.offers] == ["box"]
    assert counts(read) == {
        "no InstanceType: a TPU, or a GPU priced apart": 1, "a TPU": 1, "no accelerator: CPU only": 1,
        "share of a GPU: AcceleratorCount is not a whole number": 1, "AcceleratorCount is 0 or less": 1,
        "AcceleratorCount is not a number": 1, "no on-demand price": 1, "price out of range": 1,
    }  # fmt: skip
    assert (read.report.rows, read.report.kept, read.report.dropped) == (9, 1, 8)
    assert read.report.findings[0].examples[0].line in range(2, 11)


@pytest.mark.parametrize("spot", ["", "0", "0.0"])
def test_no_spot_price_is_not_known(spot):
    read = read_prices(file({**BOX, "SpotPrice": spot}), "vms.csv")
    assert read.offers[0].spot_usd_per_h is None
    assert read.report.repaired == 0


def test_strange_cells_are_repaired_or_flagged_and_counted():
    rows = [
        {**BOX, "InstanceType": "a", "SpotPrice": "-1"},
        {**BOX, "InstanceType": "b", "vCPUs": "many"},
        {**BOX, "InstanceType": "c", "SpotPrice": "11"},
        {**BOX, "InstanceType": "d", "AcceleratorCount": "4"},
        {**BOX, "InstanceType": "e", "AcceleratorName": ""},
        {**BOX, "InstanceType": "f", "AcceleratorCount": ""},
    ]
    read = read_prices(file(*rows), "vms.csv")
    a, b, c, d, e, f = read.offers
    assert (a.spot_usd_per_h, b.cpus, c.spot_usd_per_h, d.gpus, e.gpu_type, f.gpus) == (None, None, 11, 4, "A100", 8)
    assert counts(read) == {
        "SpotPrice cannot be used": 1, "vCPUs cannot be used": 1, "spot price above the on-demand price": 1,
        "GpuInfo states another number of GPUs": 1, "AcceleratorName is empty": 1, "AcceleratorCount is empty": 1,
    }  # fmt: skip


def test_cheapest_region_or_the_one_asked_for():
    rows = [
        {**BOX, "Price": "12", "Region": "r1", "AvailabilityZone": "r1a"},
        {**BOX, "Price": "9", "SpotPrice": "5", "Region": "r2", "AvailabilityZone": "r2a"},
        {**BOX, "Price": "9", "SpotPrice": "4", "Region": "r2", "AvailabilityZone": "r2b"},
        {**BOX, "Price": "9", "SpotPrice": "", "Region": "r2", "AvailabilityZone": "r2c"},
    ]
    (cheapest,) = read_prices(file(*rows), "vms.csv").offers
    assert (cheapest.usd_per_h, cheapest.spot_usd_per_h, cheapest.region) == (9, 4, "r2")
    read = read_prices(file(*rows), "vms.csv", region="r1")
    assert [(offer.usd_per_h, offer.source) for offer in read.offers] == [(12, "SkyPilot vms.csv, region r1")]
    assert (counts(read), read.regions) == ({"in another region": 3}, {"r2": 3, "r1": 1})
    with pytest.raises(InputError, match=r"region 'r9'.*Regions with GPU machines: r1, r2|region 'r9'.*r2"):
        read_prices(file(*rows), "vms.csv", region="r9")


def test_one_instance_type_with_several_accelerators_gets_several_names():
    rows = [{**BOX, "InstanceType": "n1"}, {**BOX, "InstanceType": "n1", "AcceleratorName": "T4"}]
    assert [offer.name for offer in read_prices(file(*rows), "vms.csv").offers] == ["n1 (8 x A100)", "n1 (8 x T4)"]


def test_nothing_to_rent_says_why():
    cpu = {**BOX, "AcceleratorName": "", "AcceleratorCount": "", "GpuInfo": ""}
    with pytest.raises(InputError, match=r"no machine with GPUs that can be rented: 2 x no accelerator: CPU only"):
        read_prices(file(cpu, cpu), "vms.csv")
    with pytest.raises(InputError, match="only a header and no data rows"):
        read_prices(file(), "vms.csv")
    with pytest.raises(InputError, match="missing columns: Price"):
        read_prices(file(BOX, columns=[name for name in COLUMNS if name != "Price"]), "vms.csv")


HOSTILE = [
    "__import__('os').system('true')", "{'Gpus': [{'Name': open('/etc/passwd'), 'Count': 1}]}", "[" * 300, "((((",
    "{'Gpus': []}", "{'Gpus': 5}", "{'Gpus': [{'Name': 'X', 'Count': '\\d'}]}", "{'Gpus': [{'Name': '', 'Count': 1}]}",
    "{'Gpus': [{'Name': 'X', 'Count': 1e999}]}", "{'Gpus': [{'Name': 'X', 'Count': 0}]}", "x" * 5000, "-" * 4000 + "1",
    "{'Gpus': [{'Name': 'X', 'Count': None}]}", "null", "", "\x00", "{'Gpus': {0: {'Name': 'X', 'Count': -3}}}",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_gpu_info_is_never_run_and_says_nothing(text):
    assert gpu_info(text) is None


@given(st.text(max_size=200))
def test_any_gpu_info_is_survived(text):
    assert gpu_info(text) is None or isinstance(gpu_info(text), tuple)


def test_gpu_info_is_read_as_a_literal():
    assert gpu_info(INFO) == ("A100", 8)
    assert gpu_info("{'Gpus': [{'Name': 'T4', 'Count': 4.0}], 'TotalGpuMemoryInMiB': 1}") == ("T4", 4)


def test_hostile_names_stay_text_and_short():
    rows = [{**BOX, "InstanceType": "=cmd()"}, {**BOX, "InstanceType": "n" * 500}, {**BOX, "InstanceType": "a\x01b"}]
    read = read_prices(file(*rows), "vms.csv")
    assert [offer.name for offer in read.offers] == ["=cmd()", "n" * 80, "ab"]
    assert "InstanceType looks like a formula or markup" in counts(read)


def test_a_hundred_thousand_rows_take_about_a_second():
    rng = random.Random(1)
    info = INFO.replace("40960", "%d")
    lines = [",".join(COLUMNS)]
    lines += [
        f'type-{row % 300},G{row % 300 % 7},{row % 300 % 8 + 1},8,32,"{info % (row % 900)}",{rng.random() + 1:.3f},'
        f"{rng.random():.3f},region-{row // 300 % 40},zone-{row}"
        for row in range(100_000)
    ]
    content = "\n".join(lines).encode()
    before = time.process_time()
    read = read_prices(content, "vms.csv")
    assert time.process_time() - before < 4
    assert (len(read.offers), len(read.regions), read.report.rows) == (300, 40, 100_000)
    assert all(offer.usd_per_h < 1.03 for offer in read.offers)

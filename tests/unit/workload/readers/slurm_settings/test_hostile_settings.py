"""Hostile settings: damaged files end in one message, and none takes long or holds much."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.workload.readers.slurm_settings.found import read_slurm
from tests.support.slurm_files import FILES

PIECES = st.sampled_from(
    ["|", "=", ",", "\n", " ", "[", "]", "-", "9" * 30, "1e400", "nan", "inf", "\x00", "é", "UNLIMITED", "(null)", "#",
     "\\", '"', "n[1-99999]", "PartitionName=", "NodeName=DEFAULT", "root", "parent", "2024-13-45T99:99:99"]
)  # fmt: skip


def read_or_refuse(text: str) -> None:
    with suppress(InputError):
        read_slurm([(text.encode(), "settings")])


@pytest.mark.parametrize("kind", list(FILES))
@given(st.data())
def test_damaged_files_end_in_one_message(kind: str, data: st.DataObject) -> None:
    text = FILES[kind]
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        cut = data.draw(st.integers(0, 12))
        text = text[:at] + data.draw(PIECES) + text[at + cut :]
    read_or_refuse(text)


@pytest.mark.parametrize(
    "text",
    [
        "PriorityWeightTRES=" + "CPU=1," * 200_000,
        "SchedulerParameters=" + ",".join(f"x{n}=1" for n in range(100_000)),
        "PartitionName=a Nodes=" + "n" * 1_000_000,
        "".join(f"PartitionName=p{n} MaxTime=1\n" for n in range(50_000)),
        "".join(f"NodeName=n{n} Weight={n}\n" for n in range(100_000)) + "PartitionName=a Nodes=ALL\n",
        "Account|User|Share\n" + "".join(f"a{n}|u|1\n" for n in range(90_000)),
        "Account|Share|ParentName\n" + "".join(f"a{n}|1|a{n + 1}\n" for n in range(50_000)),
        "Account|Share\n" + "".join(f"{' ' * n}a{n}|1\n" for n in range(3_000)),
        "Name|Priority|Preempt\n" + "q|1|" + ",".join(f"x{n}" for n in range(100_000)),
        "".join(
            f"ReservationName=r{n} StartTime=2024-05-01T10:00:00 EndTime=2024-05-02T10:00:00 Nodes=n[1-100000]\n"
            for n in range(9_000)
        ),
    ],
    ids=range(10),
)
def test_large_files_take_little_time(text: str) -> None:
    began_s = time.process_time()
    read_or_refuse(text)
    assert time.process_time() - began_s < 20

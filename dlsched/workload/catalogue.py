"""What comes with the program: the demo, sample traces and price lists, all labelled as what they are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dlsched import files
from dlsched.domain.cluster import VmType
from dlsched.domain.errors import InputError
from dlsched.workload.prices.price_list import PriceList, chosen, to_vm_types


@dataclass(frozen=True, slots=True)
class BundledPrices:
    """A bundled price list: a name for choices, what to think of it, its file in the data folder."""

    label: str
    note: str
    file: str


EXAMPLES = BundledPrices(
    "Current example prices",
    "Example machine types with example prices, close to the list prices of their date. These are not quotes: enter "
    "your own.",
    "vm_examples.csv",
)
PAPER = BundledPrices(
    "Path-relinking paper, 2022",
    "The eight machine types of the path-relinking paper (Table 2). The two marked * were made up by its authors.",
    "vm_gpuaas_2022.csv",
)
PRICE_LISTS = (EXAMPLES, PAPER)


@dataclass(frozen=True, slots=True)
class SampleTrace:
    """A bundled trace: a name for buttons, one sentence, its file in the data folder."""

    label: str
    words: str
    file: str


SAMPLES = (
    SampleTrace("Campus", "2,000 jobs in 11 days: a course, research and some large jobs.", "samples/campus.csv"),
    SampleTrace("Shared GPUs", "800 jobs in bursts, with shared GPUs and GPU types.", "samples/shared-gpus.csv"),
    SampleTrace("Slurm export", "300 lines of sacct, including jobs that never started.", "samples/slurm-sacct.txt"),
)


SAMPLE_PREFIX = "sample:"
_SCENARIOS = ("demo.toml", "quotas.toml")


def file_of(named: str | Path) -> Path:
    """Return the file a user names: ``sample:campus`` is a bundled one, anything else a path, ~ for the home folder.

    Raises
    ------
    InputError
        If there is no such sample.
    """
    if not str(named).startswith(SAMPLE_PREFIX):
        return Path(named).expanduser()
    files_of = {Path(file).stem: file for file in (*_SCENARIOS, *(sample.file for sample in SAMPLES))}
    name = str(named).removeprefix(SAMPLE_PREFIX)
    if name not in files_of:
        known = ", ".join(f"{SAMPLE_PREFIX}{one}" for one in files_of)
        raise InputError(f"{SAMPLE_PREFIX}{name[:100]}", "there is no such sample", f"Samples are {known}")
    return data_path(files_of[name])


def data_path(name: str) -> Path:
    """Return the path of a bundled file, such as ``demo.toml``.

    Raises
    ------
    InputError
        If there is no such file: the installation is not complete.
    """
    path = files.DATA / name
    if not path.is_file():
        raise InputError(
            f"bundled file {name}", f"is not in {files.DATA}", "Install dlsched again, or download all of its folders"
        )
    return path


@cache
def price_list(bundled: BundledPrices) -> PriceList:
    """Return a bundled price list."""
    from dlsched.workload.prices.price_file import read_prices

    return PriceList(offers=read_prices(data_path(bundled.file)).offers)


def vm_examples() -> tuple[VmType, ...]:
    """Return the example machine types at their list prices, those for pools of CPU nodes too."""
    prices = price_list(EXAMPLES)
    return to_vm_types(chosen(prices, [offer.name for offer in prices.offers]))

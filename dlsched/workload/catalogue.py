"""What comes with the program: the demo, sample traces and example machine types, all labelled as examples."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path

from pydantic import ValidationError

from dlsched.domain.cluster import Frozen, VmType
from dlsched.domain.errors import InputError, from_validation

_DATA = Path(__file__).resolve().parents[2] / "data"


class VmCatalogue(Frozen):
    """Example machine types, the day their prices are of, and what to think of them."""

    note: str
    as_of: date
    types: tuple[VmType, ...]


@dataclass(frozen=True, slots=True)
class SampleTrace:
    """A bundled trace: a name for buttons, one sentence, its file in the data folder."""

    label: str
    words: str
    file: str


SAMPLES = (
    SampleTrace("Campus", "2,000 jobs in 11 days: a course, research, some large jobs.", "samples/campus.csv"),
    SampleTrace("Shared GPUs", "800 jobs in bursts, with shares of a GPU and GPU types.", "samples/shared-gpus.csv"),
    SampleTrace("Slurm export", "300 lines of sacct, some of jobs that never started.", "samples/slurm-sacct.txt"),
)


def data_path(name: str) -> Path:
    """Return the path of a bundled file, such as ``demo.toml``.

    Raises
    ------
    InputError
        If there is no such file: the project folder is not complete.
    """
    path = _DATA / name
    if not path.is_file():
        raise InputError(f"bundled file {name}", f"is not in {_DATA}", "Get the project folder again, with data/")
    return path


@cache
def vm_catalogue() -> VmCatalogue:
    """Return the example machine types with their date and note."""
    try:
        return VmCatalogue.model_validate_json(data_path("vm_types.json").read_bytes())
    except ValidationError as error:
        raise from_validation("data/vm_types.json", error) from error


def vm_examples() -> tuple[VmType, ...]:
    """Return the example machine types."""
    return vm_catalogue().types

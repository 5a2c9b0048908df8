"""``anonymise``: write a copy of a log or scenario without names and dates that gives the same numbers."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from dlsched.cli.output import printable
from dlsched.cli.reading import loaded
from dlsched.domain.errors import InputError
from dlsched.wording.anonymised import replaced_words, visible_words
from dlsched.wording.formats import amount
from dlsched.workload.anonymise import anonymised, key_of
from dlsched.workload.readers import write_native
from dlsched.workload.scenario_file import write_scenario

TABLES, SCENARIOS = (".csv", ".parquet"), (".json", ".toml")


def run(options: Namespace) -> int:
    """Carry out the command."""
    suffix = Path(options.out).suffix.lower()
    if suffix not in (*TABLES, *SCENARIOS):
        why = f"must end in {', '.join((*TABLES, *SCENARIOS))}"
        raise InputError(f"file {options.out}", why, "A table holds the jobs, a scenario file also the cluster")
    if options.key == "":
        raise InputError("--key", "is empty, so that names could be found by trying", "Leave it out for a random key")
    copy = anonymised(loaded(options), key_of(options.key))
    if suffix in TABLES:
        write_native(copy.scenario.workload, options.out, dates=True)
    else:
        write_scenario(copy.scenario, options.out)
    print(f"{amount(len(copy.scenario.workload), 'job')} written to {printable(options.out)}.")
    if suffix in TABLES and not any(one.is_about_default_cluster for one in copy.scenario.assumptions):
        print("A table holds the jobs alone: write a .json or .toml file to take the cluster along.")
    for text in (replaced_words(copy), *visible_words(copy)):
        print(printable(text))
    return 0

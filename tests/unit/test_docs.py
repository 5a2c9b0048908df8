"""The documentation names tests, functions, files and commands that exist, and its generated parts are up to date."""

from __future__ import annotations

import ast
import re
import shlex
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import dlsched
from dlsched.cli.arguments import build_parser
from dlsched.domain.energy import EnergySetup, gpu_types_of
from dlsched.metrics.kpi import KPIS
from dlsched.metrics.tables import JOB_TEXTS
from dlsched.plugins.loading import GROUPS, is_reference
from dlsched.policies.registry import POLICIES, find
from dlsched.studies.reproductions.registry import REPRODUCTIONS
from dlsched.workload.catalogue import SAMPLE_PREFIX, file_of
from dlsched.workload.energy_setup import known_power
from tools import docs

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in sorted(docs.DOCS.rglob("*.md"))
}
TOP = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "CONTRIBUTING.md")}
CURRENT = {name: text for name, text in PAGES.items() if "/decisions/" not in name} | TOP
"""Pages that speak of the code as it is; a decision speaks of its day."""
COMMAND = re.compile(r"^ +(?:\.venv/bin/)?dlsched (.+)$", re.MULTILINE)


@lru_cache
def names_in(file: str) -> frozenset[str]:
    path = ROOT / file
    if not path.is_file():
        return frozenset()
    return frozenset(one.name for one in ast.walk(ast.parse(path.read_text())) if isinstance(one, ast.FunctionDef))


def resolve(name: str) -> Any:
    """Return what a dotted name stands for."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found: Any = import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[count:]:
            found = getattr(found, attribute)
        return found
    raise ModuleNotFoundError(name)


@pytest.mark.parametrize("page", CURRENT)
def test_every_test_that_is_named_exists(page: str):
    named = re.findall(r"(tests/[\w/]+\.py)::(\w+)", CURRENT[page])
    assert [f"{file}::{name}" for file, name in named if name not in names_in(file)] == []


@pytest.mark.parametrize("page", CURRENT)
def test_every_name_in_the_code_exists(page: str):
    names = re.findall(r"`(dlsched(?:\.\w+)+)", CURRENT[page]) + re.findall(r"^::: ([\w.]+)$", CURRENT[page], re.M)
    missing = []
    for name in set(names) - set(GROUPS):
        try:
            resolve(name)
        except (ModuleNotFoundError, AttributeError):
            missing.append(name)
    assert missing == []


@pytest.mark.parametrize("page", CURRENT)
def test_every_file_that_is_named_exists(page: str):
    paths = re.findall(r"`((?:dlsched|tools|data|pages|benchmarks|tests|docs)/[\w./-]+)[`:]", CURRENT[page])
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", PAGES | TOP)
def test_links_lead_somewhere(page: str):
    text = (PAGES | TOP)[page]
    targets = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text)
    assert [target for target in targets if not (ROOT / page).parent.joinpath(target).exists()] == []


def test_each_statement_about_the_simulation_names_a_test():
    statements = re.split(r"^(?=\d+\.\d+\. )", PAGES["docs/simulation.md"], flags=re.M)[1:]
    assert len(statements) > 50
    assert [text[:40] for text in statements if "::test_" not in text] == []
    numbers = [re.match(r"(\d+)\.(\d+)", text) for text in statements]
    pairs = [(int(found[1]), int(found[2])) for found in numbers if found]
    assert pairs == sorted(set(pairs))


def test_generated_parts_are_up_to_date():
    stale = [page.name for page, text in docs.pages().items() if text != page.read_text(encoding="utf-8")]
    assert stale == [], "run: python -m tools.docs"


def test_every_metric_policy_and_figure_has_its_line():
    assert [key for key in KPIS if f"`{key}`" not in PAGES["docs/metrics.md"]] == []
    assert [spec.key for spec in POLICIES if f"\n### {spec.key}\n" not in PAGES["docs/policies.md"]] == []
    papers = "".join(PAGES[f"docs/papers/{paper}.md"] for paper in docs.PAPERS)
    assert [one.key for one in REPRODUCTIONS if papers.count(f"`{one.key}`") != 1] == []


def test_a_page_without_its_marks_is_named():
    with pytest.raises(ValueError, match="smd"):
        docs.with_tables("no marks", [""], "papers/smd.md")


@pytest.mark.parametrize("name", docs.TABLES)
def test_every_column_of_a_run_is_described(name: str):
    demo = dlsched.load(ROOT / "data" / "demo.toml")
    power = known_power(gpu_types_of(demo.cluster))
    run = dlsched.simulate(demo.replace(energy=EnergySetup(power=power, usd_per_kwh=(0.1,), g_per_kwh=(300,))), "fifo")
    described = list(docs.TABLES[name][1])
    shown = list(getattr(run, name).columns)
    assert [column for column in described if column in shown or column not in JOB_TEXTS] == shown


def commands() -> list[tuple[str, str]]:
    return [(page, line) for page, text in (PAGES | TOP).items() for line in COMMAND.findall(text)]


@pytest.mark.parametrize(("page", "line"), commands())
def test_commands_can_be_typed(page: str, line: str):
    words = shlex.split(line, comments=True)
    options = build_parser(words[0]).parse_args(words)
    for key in [getattr(options, "policy", None), *(getattr(options, "policies", None) or [])]:
        assert key is None or is_reference(key) or key == "external" or find(key)
    assert all(file_of(word).exists() for word in words if word.startswith(("data/", SAMPLE_PREFIX)))


def test_every_make_target_that_is_named_exists():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {name for text in CURRENT.values() for name in re.findall(r"(?:^ +|`)make ([a-z-]+)", text, re.MULTILINE)}
    assert named - targets == set()


@pytest.mark.parametrize("page", [name for name in PAGES if "/guides/" in name] + ["docs/api.md", "README.md"])
def test_python_examples_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)  # they write files
    (tmp_path / "data").symlink_to(ROOT / "data")
    names: dict[str, object] = {}
    for code in re.findall(r"```python\n(.*?)```", CURRENT[page], flags=re.DOTALL):
        exec(code, names)  # the document's own code; later examples may use the names of earlier ones


def test_every_page_is_in_the_navigation():
    listed = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [name.removeprefix("docs/") for name in PAGES if "/decisions/" not in name]
    assert [page for page in pages if f"- {page}\n" not in listed] == []

"""Image, compose file, workflows and the files about a release: what can be checked of them without an engine."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import dlsched
from dlsched.access.config import Config
from dlsched.cli.arguments import build_parser

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
INSTRUCTIONS = {"FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"}


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def stages() -> list[list[tuple[str, str]]]:
    """Return instruction and arguments of each line of the Dockerfile, by stage."""
    found: list[list[tuple[str, str]]] = []
    for line in re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", read("Dockerfile"), flags=re.M)).splitlines():
        if line:
            name, _, rest = line.partition(" ")
            if name == "FROM":
                found.append([])
            found[-1].append((name, rest))
    return found


BUILD, IMAGE = stages()
COMPOSE = yaml.safe_load(read("compose.yaml"))


def typed(command: list[str]) -> Any:
    return build_parser(command[0]).parse_args(command)


def test_the_image_is_built_from_files_that_are_there():
    assert {name for name, _ in (*BUILD, *IMAGE)} <= INSTRUCTIONS
    named = [word for name, rest in BUILD if name == "COPY" for word in rest.split()[:-1]]
    assert all((ROOT / word).exists() for word in named)
    for name, rest in (*BUILD, *IMAGE):
        if name == "RUN":
            assert subprocess.run(["sh", "-n", "-c", rest], check=False).returncode == 0


def test_the_image_is_given_what_the_package_is_built_of():
    project = tomllib.loads(read("pyproject.toml"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {*wheel["only-include"], *wheel["force-include"], *project["project"]["license-files"]}
    needed |= {"pyproject.toml", project["project"]["readme"], "constraints.txt", "requirements.txt"}
    lines = [line for line in read(".dockerignore").splitlines() if not line.startswith("#")]
    assert lines[0] == "*"
    assert {line.removeprefix("!") for line in lines if line.startswith("!")} == needed


def test_the_image_serves_the_app_as_a_user_and_is_asked_for_its_health():
    users = [rest for name, rest in IMAGE if name == "USER"]
    assert users == ["dlsched"]
    last = dict(IMAGE)
    assert json.loads(last["ENTRYPOINT"]) == ["dlsched"]
    options = typed(json.loads(last["CMD"]))
    assert (options.command, options.address, options.no_browser) == ("app", "0.0.0.0", True)
    assert last["EXPOSE"] == str(options.port)
    health = json.loads(last["HEALTHCHECK"].partition("CMD ")[2])
    assert f"http://127.0.0.1:{options.port}/_stcore/health" in health[2]
    compile(health[2], "health", "exec")
    assert "DLSCHED_STORE=/data/results.duckdb" in last["ENV"]
    assert last["VOLUME"] == "/data"


def test_the_app_of_the_compose_file_is_reached_through_the_proxy_alone():
    app, proxy = COMPOSE["services"]["app"], COMPOSE["services"]["proxy"]
    assert "ports" not in app
    assert [*app["networks"]] == ["inside"]
    assert COMPOSE["networks"]["inside"]["internal"] is True
    config = Config.model_validate(tomllib.loads(COMPOSE["configs"]["dlsched"]["content"]))
    assert [str(one) for one in config.access.proxies] == [f"{proxy['networks']['inside']['ipv4_address']}/32"]
    site = COMPOSE["configs"]["proxy"]["content"]
    assert f"reverse_proxy app:{dict(IMAGE)['EXPOSE']}" in site
    assert f"header_up {config.access.header} {{http.auth.user.id}}" in site
    assert {*config.access.planners, *config.access.readers} == set(re.findall(r"^\s+(\w+) \{\$\$", site, re.M))
    assert "results:/data" in app["volumes"]


def test_all_that_a_service_names_is_defined():
    for service in COMPOSE["services"].values():
        assert {volume.partition(":")[0] for volume in service["volumes"]} <= COMPOSE["volumes"].keys()
        assert {one["source"] for one in service["configs"]} <= COMPOSE["configs"].keys()
        assert {*service["networks"]} <= COMPOSE["networks"].keys()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_are_complete(path: Path):
    flow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert flow["name"] == path.stem
    assert flow[True]  # YAML takes the word "on" for a truth value
    assert flow["permissions"] == {"contents": "read"}
    for job in flow["jobs"].values():
        assert job["timeout-minutes"] > 0
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            assert subprocess.run(["sh", "-n", "-c", step.get("run", "")], check=False).returncode == 0


def test_workflows_type_commands_that_exist():
    texts = "\n".join(path.read_text(encoding="utf-8") for path in WORKFLOWS) + read("Dockerfile")
    commands = re.findall(r"dlsched ((?:simulate|app)\b.*)", texts)
    assert len(commands) == 3
    assert [typed(shlex.split(line)).command for line in commands] == ["simulate"] * 3
    versions = yaml.safe_load(read(".github/workflows/tests.yml"))["jobs"]["tests"]["strategy"]["matrix"]["python"]
    project = tomllib.loads(read("pyproject.toml"))["project"]
    assert versions == [re.search(r"3\.\d+$", one)[0] for one in project["classifiers"] if ":: 3." in one]  # type: ignore[index]


def test_the_devcontainer_sets_up_what_it_names():
    settings = json.loads(read(".devcontainer/devcontainer.json"))
    script, requirements = settings["postCreateCommand"].split()
    assert (ROOT / script).is_file()
    assert (ROOT / requirements).is_file()


def test_one_version_everywhere():
    citation = yaml.safe_load(read("CITATION.cff"))
    assert citation["version"] == dlsched.__version__
    newest = re.findall(r"^## \[(.+)\] - (\d{4}-\d\d-\d\d)$", read("CHANGELOG.md"), re.M)[0]
    assert newest == (dlsched.__version__, str(citation["date-released"]))
    assert {"cff-version", "message", "title", "authors", "type", "license"} <= citation.keys()

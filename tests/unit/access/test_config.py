"""The config file: what it says, and one clear message for what it may not say."""

import re
from pathlib import Path

import pytest

from dlsched.access.config import DEFAULT_PATH, PATH_VARIABLE, Config, parse_config, read_config
from dlsched.domain.errors import InputError

WHOLE = """
[access]
login = "header"
header = "X-Remote-User"
proxies = ["127.0.0.1", "10.0.0.0/8", "fd00::/8"]
planners = [" Anna@Example.com "]
readers = ["rita"]
others = "refused"
read_only = true

[server]
address = "0.0.0.0"
port = 9000
base_path = "/plan/dlsched/"
allowed_hosts = ["dlsched.example.com"]
store = "~/team.duckdb"
"""


def test_a_whole_file_is_read():
    config = parse_config(WHOLE)
    assert [str(one) for one in config.access.proxies] == ["127.0.0.1/32", "10.0.0.0/8", "fd00::/8"]
    assert config.access.planners == ("Anna@Example.com",)
    assert config.server.base_path == "plan/dlsched"
    assert config.access.read_only


def test_no_file_means_defaults_unless_one_was_asked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv(PATH_VARIABLE, raising=False)
    assert read_config() == Config()
    with pytest.raises(InputError, match=r"team\.toml: does not exist"):
        read_config(tmp_path / "team.toml")
    monkeypatch.setenv(PATH_VARIABLE, str(tmp_path / "other.toml"))
    with pytest.raises(InputError, match=r"other\.toml: does not exist"):
        read_config()


def test_argument_before_variable_before_default(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    files = {DEFAULT_PATH.expanduser(): 1001, tmp_path / "variable.toml": 1002, tmp_path / "argument.toml": 1003}
    for path, port in files.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"[server]\nport = {port}\n")
    monkeypatch.delenv(PATH_VARIABLE, raising=False)
    assert read_config().server.port == 1001
    monkeypatch.setenv(PATH_VARIABLE, str(tmp_path / "variable.toml"))
    assert read_config().server.port == 1002
    assert read_config(tmp_path / "argument.toml").server.port == 1003


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('[access]\nlogin = "ldap"', r"access\.login: .*'none', 'oidc' or 'header', got 'ldap'"),
        ("[access]\nlogon = 1", r"access\.logon: Extra inputs are not permitted"),
        ('[access]\nproxies = ["10.0.0.1/8"]', r"access\.proxies\.0: .*network, got '10\.0\.0\.1/8'"),
        ('[access]\nproxies = ["0.0.0.0/0"]', r"proxies\.0: must name the proxy: .* any visitor could send the header"),
        ('[access]\nproxies = ["::/0"]', "must name the proxy"),
        ('[access]\nproxies = ["proxy.example.com"]', r"access\.proxies\.0"),
        ('[access]\nheader = "X User"', r"access\.header"),
        ('[access]\nplanners = ["anna"]', "need a login"),
        ('[access]\nothers = "reader"', "need a login"),
        ('[access]\nlogin = "oidc"', "no user may enter"),
        ('[access]\nlogin = "oidc"\nplanners = ["Anna"]\nreaders = ["anna "]', "anna is a planner and a reader"),
        ('[access]\nlogin = "oidc"\nplanners = ["  "]', r"planners\.0"),
        ("[server]\nport = 0", r"server\.port: .* greater than or equal to 1, got 0"),
        ('[server]\nbase_path = "a/../b"', r"must not go up"),
        ('[server]\nbase_path = "a b"', r"server\.base_path"),
        ("[access\n", "is no TOML"),
        ("access = 3", "access"),
    ],
)
def test_what_is_wrong_is_named(text, complaint):
    with pytest.raises(InputError, match=complaint):
        parse_config(text)


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not UTF-8"):
        read_config(tmp_path / "binary.toml")
    with pytest.raises(InputError, match="cannot be read"):
        read_config(tmp_path)
    (tmp_path / "deep.toml").write_text("a = " + "[" * 100_000)
    with pytest.raises(InputError, match="is no TOML"):
        read_config(tmp_path / "deep.toml")


def test_the_examples_of_the_guide_are_valid():
    text = (Path(__file__).resolve().parents[3] / "docs" / "deploy.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    found = [parse_config(block) for block in blocks if "[access]" in block or "[server]" in block]
    assert [one.access.login for one in found] == ["header", "oidc", "none"]
    assert found[2].access.read_only

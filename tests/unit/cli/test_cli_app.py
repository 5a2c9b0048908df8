import os
import socket
import sys
from pathlib import Path

import pytest

from dlsched import files
from dlsched.cli import app
from dlsched.cli.main import main
from dlsched.domain.errors import InputError

LOCAL = "127.0.0.1"


def always_free(port, address):
    return True


@pytest.fixture
def started(monkeypatch):
    """Return what a command would have made of this process: the server's command line and environment."""
    seen = []

    def become(path, args, env):
        seen.append((args, env))
        raise SystemExit

    def typed(*args):
        with pytest.raises(SystemExit):
            main(args)
        return seen[-1]

    monkeypatch.setattr(os, "execve", become)
    monkeypatch.setattr(app, "pick_port", lambda first, address: first)
    return typed


def test_takes_the_wanted_port_when_it_is_free():
    assert app.pick_port(8501, LOCAL, free=always_free) == 8501


def test_skips_taken_ports_in_order():
    assert app.pick_port(8501, LOCAL, free=lambda port, address: port not in {8501, 8502, 8504}) == 8503


def test_a_real_listener_makes_its_port_taken():
    with socket.create_server((LOCAL, 0)) as server:
        taken = server.getsockname()[1]
        assert not app.is_free(taken, LOCAL)
        assert app.pick_port(taken, LOCAL) > taken


def test_a_listener_on_all_addresses_counts_too():
    with socket.create_server(("", 0)) as server:
        assert not app.is_free(server.getsockname()[1], LOCAL)


@pytest.mark.parametrize("address", ["192.0.2.1", "no.such.host.invalid", "::1"])
def test_an_address_of_another_machine_is_refused(address, capsys):
    assert main(["app", "--address", address]) == 2
    assert capsys.readouterr().err == (
        f"dlsched: --address: this machine has no IPv4 address {address}. Give 127.0.0.1 for this machine only, or "
        "0.0.0.0 for all of its addresses.\n"
    )


@pytest.mark.parametrize(
    ("first", "last"),
    [
        pytest.param(8501, 8600, id="a hundred tries"),
        pytest.param(65_500, 65_535, id="stops at the largest port"),
    ],
)
def test_error_names_the_range_and_the_way_out(first, last):
    tried = []

    def never_free(port, address):
        tried.append(port)
        return False

    with pytest.raises(InputError, match=rf"--port: no port from {first} to {last} is free\. .* another port"):
        app.pick_port(first, LOCAL, free=never_free)
    assert tried == list(range(first, last + 1))


def test_no_command_opens_the_app(started):
    assert started() == started("app")


def test_options_become_the_command_of_the_server(started, capsys):
    args, _ = started("app", "--port", "9000", "--address", "0.0.0.0", "--no-browser", "--store", "my runs.duckdb")
    assert args[0] == sys.executable
    assert args[args.index("run") + 1] == str(files.APP)
    assert args[args.index("--") + 1 :] == ["--store", "my runs.duckdb"]
    assert {"--server.address=0.0.0.0", "--server.port=9000", "--server.headless=true"} <= set(args)
    assert "http://0.0.0.0:9000. Stop with Ctrl+C." in capsys.readouterr().out
    assert "--server.headless=true" not in started("app")[0]


def test_the_config_file_gives_what_is_not_typed(started, tmp_path, capsys):
    path = tmp_path / "team.toml"
    path.write_text(
        '[access]\nlogin = "header"\nproxies = ["10.0.0.1"]\nothers = "reader"\n'
        '[server]\naddress = "0.0.0.0"\nport = 9100\nbase_path = "/plan/"\nallowed_hosts = ["a.example", "b.example"]\n'
    )
    args, _ = started("app", "--config", str(path), "--read-only")
    wanted = {"--server.address=0.0.0.0", "--server.port=9100", "--server.baseUrlPath=plan"}
    assert {*wanted, "--server.allowedHosts=a.example", "--server.allowedHosts=b.example"} <= set(args)
    assert args[args.index("--") + 1 :] == ["--config", str(path), "--read-only"]
    said = capsys.readouterr()
    assert "http://0.0.0.0:9100/plan. Stop" in said.out
    assert said.err == ""
    typed, _ = started("app", "--config", str(path), "--port", "9200", "--base-path", "x/y", "--address", LOCAL)
    assert {"--server.address=127.0.0.1", "--server.port=9200", "--server.baseUrlPath=x/y"} <= set(typed)


def test_what_is_open_to_strangers_is_in_the_log(started, capsys):
    started("app")
    assert capsys.readouterr().err == ""
    started("app", "--address", "0.0.0.0")
    assert "dlsched: warning: There is no login, and the server listens on 0.0.0.0" in capsys.readouterr().err
    started("app", "--address", "0.0.0.0", "--read-only")
    assert "anyone who reaches it can read all results." in capsys.readouterr().err


def test_a_wrong_path_or_file_is_one_message(tmp_path, capsys):
    assert main(["app", "--base-path", "../x"]) == 2
    assert "base_path: must not go up (..), got '../x'" in capsys.readouterr().err
    (tmp_path / "bad.toml").write_text("[access]\nlogin = 1\n")
    assert main(["app", "--config", str(tmp_path / "bad.toml")]) == 2
    assert "bad.toml, access.login" in capsys.readouterr().err


@pytest.mark.parametrize("port", ["0", "70000", "many"])
def test_impossible_port_is_refused(port, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["app", "--port", port])
    assert stop.value.code == 2
    assert port in capsys.readouterr().err


def test_a_checkout_comes_first_on_the_path():
    assert app.environment({})["PYTHONPATH"] == str(files.HOME)
    kept = app.environment({"PYTHONPATH": "elsewhere", "HOME": "there"})
    assert kept == {"PYTHONPATH": f"{files.HOME}{os.pathsep}elsewhere", "HOME": "there"}


def test_an_installation_leaves_the_path_alone(monkeypatch):
    monkeypatch.setattr(files, "HOME", files.BUNDLE)
    assert app.environment({"HOME": "there"}) == {"HOME": "there"}


def test_a_checkout_uses_its_own_folders():
    root = Path(__file__).resolve().parents[3]
    assert (root / "app.py", root / "data") == (files.APP, files.DATA)


def test_plugins_are_named_for_the_app_and_its_workers(started, monkeypatch, capsys):
    monkeypatch.setenv("DLSCHED_PLUGINS", "theirs:SPEC")
    _, environment = started("app", "--plugin", "mine:SPEC", "--plugin", "theirs:SPEC")
    assert environment["DLSCHED_PLUGINS"] == "theirs:SPEC,mine:SPEC"
    assert main(["app", "--plugin", "mine"]) == 2
    assert "--plugin mine: is not of the form module:NAME" in capsys.readouterr().err

import os
import socket

import pytest

from tools import launch


def test_takes_the_wanted_port_when_it_is_free():
    assert launch.pick_port(8501, free=lambda port: True) == 8501


def test_skips_taken_ports_in_order():
    assert launch.pick_port(8501, free=lambda port: port not in {8501, 8502, 8504}) == 8503


def test_a_real_listener_makes_its_port_taken():
    with socket.create_server((launch.ADDRESS, 0)) as server:
        taken = server.getsockname()[1]
        assert not launch.is_free(taken)
        assert launch.pick_port(taken) > taken


def test_a_listener_on_all_addresses_counts_too():
    with socket.create_server(("", 0)) as server:
        assert not launch.is_free(server.getsockname()[1])


@pytest.mark.parametrize(
    ("first", "last"),
    [
        pytest.param(8501, 8600, id="a hundred tries"),
        pytest.param(65_500, 65_535, id="stops at the largest port"),
    ],
)
def test_error_names_the_range_and_the_way_out(first, last):
    tried = []

    def never_free(port):
        tried.append(port)
        return False

    with pytest.raises(RuntimeError, match=rf"from {first} to {last}\. .* --port"):
        launch.pick_port(first, free=never_free)
    assert tried == list(range(first, last + 1))


def test_unknown_options_reach_the_app_in_order():
    port, rest = launch.parse(["--store", "my runs.duckdb", "--port", "9000", "--verbose"])
    assert (port, rest) == (9000, ["--store", "my runs.duckdb", "--verbose"])
    args = launch.command(port, rest)
    assert args[args.index("--") + 1 :] == rest
    assert "--server.address=127.0.0.1" in args
    assert "--server.port=9000" in args


def test_impossible_port_is_refused(capsys):
    with pytest.raises(SystemExit) as stop:
        launch.parse(["--port", "70000"])
    assert stop.value.code == 2
    assert "from 1 to 65535, got 70000" in capsys.readouterr().err


def test_project_comes_first_on_the_path():
    assert launch.environment({})["PYTHONPATH"] == str(launch.ROOT)
    kept = launch.environment({"PYTHONPATH": "elsewhere", "HOME": "there"})
    assert kept == {"PYTHONPATH": f"{launch.ROOT}{os.pathsep}elsewhere", "HOME": "there"}

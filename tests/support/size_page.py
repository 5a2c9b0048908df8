"""The page Size under test: small scenarios, answers about them, and what its tests do on it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from streamlit.testing.v1 import AppTest

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario
from dlsched.store import Store
from dlsched.store.record import ExperimentRecord
from dlsched.studies import registry
from dlsched.studies.design import Futures
from dlsched.ui.frame.futures import PREFIX
from tests.support.runs_for_store import small_scenario

PAGE = "plan/capacity.py"
WAIT_S = 60
OpenPage = Callable[..., AppTest]
WAIT = {"metric": "wait_p95", "limit": 30.0}
COST = {"metric": "cost_month", "limit": 10.0}


@cache
def scenario() -> Scenario:
    """Return twelve jobs on two nodes of 2 GPUs, on which some wait."""
    return small_scenario(24)


@cache
def two_types() -> Scenario:
    prices = {"a": 3.6, "b": 4.8}
    pools = tuple(Pool(vm=VmType(name=name, gpus=2, gpu_type=name, usd_per_h=usd), count=1)
                  for name, usd in prices.items())  # fmt: skip
    return small_scenario(24, name="two types").replace(cluster=Cluster(pools=pools))


@cache
def answered(
    *targets: tuple[str, float],
    spread: float = 0.0,
    claim: str = "average",
    about: str = "scenario",
    most: int = 8,
    least: int = 1,
    demand: float = 1.0,
) -> ExperimentRecord:
    """Return a search of a small scenario."""
    what = {"scenario": scenario, "two_types": two_types}[about]()
    spec: dict[str, Any] = {
        "scenario": what.content_hash, "targets": [{"metric": key, "limit": limit} for key, limit in targets],
        "claim": claim, "condition": {"demand": demand} if demand != 1.0 else {},
        "futures": Futures.first(6, {"run_time_spread": spread} if spread else {}),
        "types": [{"key": key, "least": 0 if "." in key else least, "most": most}
                  for key in (["nodes"] if about == "scenario" else ["nodes.a", "nodes.b"])],
    }  # fmt: skip
    return registry.compute("size", spec, subject=what)


def months(percent: float = 10.0, **spec: Any) -> ExperimentRecord:
    plain = {"scenario": scenario().content_hash, "policy": "fifo", "targets": [WAIT], "percent": percent, "months": 4,
             "begin": "2026-11", "futures": Futures.first(4)}  # fmt: skip
    return registry.compute("growth", plain | spec, subject=scenario())


def saved(store: Store, record: ExperimentRecord, about: Scenario | None = None) -> str:
    """Return the id of an answer, saved with its scenario, whose pages look at the futures it is of."""
    info = store.save_scenario(about or scenario())
    futures = record.spec["futures"]
    store.set_setting(PREFIX + info.lineage, {"count": len(futures["seeds"]) - 1, "vary": futures["vary"]})
    return store.save_experiment(record)


def keys(app: AppTest) -> set[str | None]:
    return {button.key for button in app.button}


def tag(about: Scenario | None = None) -> str:
    return (about or scenario()).content_hash[:8]


def opened(store: Store, open_page: OpenPage, about: Scenario | None = None, **params: str) -> AppTest:
    return open_page(PAGE, scenario=store.save_scenario(about or scenario()).scenario_hash, **params)


def typed(app: AppTest, metric: str, text: str, about: Scenario | None = None) -> AppTest:
    return app.text_input(key=f"goal-limit-{metric}-{tag(about)}").set_value(text).run()


def primary(app: AppTest) -> list[str | None]:
    return [button.key for button in app.button if button.proto.type == "primary"]

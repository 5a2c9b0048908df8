"""Hostile and damaged lists of objects, quantities, and quotas as a cluster."""

import contextlib
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.workload.readers import read_cluster
from dlsched.workload.readers.kubernetes.objects import objects
from dlsched.workload.readers.kubernetes.quantities import amount, is_gpu
from dlsched.workload.readers.kubernetes.queue_objects import collect
from dlsched.workload.readers.kubernetes.quotas import cluster_of_quotas
from dlsched.workload.readers.source import TraceText


def found(text: str):
    return list(objects(TraceText(text.encode(), "t")))


def test_lines_and_numbers_stay_texts():
    text = (
        '{"kind": "List", "items": [\n{"a": 1},\n\n{"a": 1.50, "b": null, "c": [true]}\n]}\n{"d": ' + "9" * 5000 + "}"
    )
    (first, a), (second, b), (third, c) = found(text)
    assert (first, second, third) == (2, 4, 6)  # the List ends in line 5
    assert (a, b) == ({"a": "1"}, {"a": "1.50", "b": None, "c": [True]})
    assert c == {"d": "9" * 5000}


def test_yaml_scalars_stay_texts():
    text = "kind: List\nitems:\n- when: 2025-01-01T00:00:00Z\n  n: 0x10\n- {a: null, b: ~, c: 'null', d: [x, {e: f}]}\n"
    assert found(text) == [
        (3, {"when": "2025-01-01T00:00:00Z", "n": "0x10"}),
        (5, {"a": None, "b": None, "c": "null", "d": ["x", {"e": "f"}]}),
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("a: &x [1]\nb: *x\n", "line 2: it has YAML aliases", id="alias"),
        pytest.param("a: " + "[" * 5000, "nested deeper than 60 levels", id="deep YAML"),
        pytest.param("- " * 5000 + "a", "nested deeper than 60 levels", id="deep YAML list"),
        pytest.param("a: [1, 2\nb: 3\n", "line 2: it is not valid YAML", id="damaged YAML"),
        pytest.param("a: {b: c}: d\n", "it is not valid YAML", id="odd YAML"),
        pytest.param("? [a, b]\n: c\n", "a YAML key is not a text", id="complex key"),
        pytest.param("a: [" + "0," * 250_000 + "]", "more than 200,000 values", id="large YAML object"),
        pytest.param('{"a": ' + "[" * 100_000, "nested too deep|not valid JSON", id="deep JSON"),
        pytest.param('{"a": NaN}', "NaN is no number", id="NaN"),
        pytest.param('{"a": 1', "ends before the object is complete", id="cut off"),
        pytest.param('{"items": [{"a": 1}', "ends before the list is complete", id="cut list"),
        pytest.param('{"items": [{"a": 1]}', "not valid JSON", id="damaged JSON"),
        pytest.param('{"a" 1}', "':' is missing", id="no colon"),
        pytest.param('{"a": 1} x', "must start with '{'", id="tail"),
        pytest.param('{"a": [' + '"x",' * 2_000_000 + "1]}", "more than 4,194,304 characters", id="large JSON object"),
    ],
)
def test_hostile_files_give_one_message(text, why):
    with pytest.raises(InputError, match=why):
        found(text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_json_values_survive(value):
    items = [{"value": value}, {"other": "x"}]
    expected = json.loads(json.dumps(items))
    for text in (json.dumps({"kind": "List", "items": items}), json.dumps(items), "\n".join(map(json.dumps, items))):
        assert [item for _, item in found(text)] == expected


@given(st.text(max_size=200), st.sampled_from(["", "{", '{"', "[", "a: ", "items:\n- "]))
def test_any_text_gives_objects_or_one_message(text, start):
    with contextlib.suppress(InputError):
        assert all(isinstance(item, dict) for _, item in found(start + text))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("8", 8), ("500m", 0.5), ("1500Mi", 1500 * 2**20), ("1e3", 1000), ("2E", 2e18), ("1.5k", 1500), ("3n", 3e-9),
        ("2Ti", 2 * 2**40), ("-1", -1), ("+.5", 0.5), ("1E3", 1000), (" 7 ", 7),
    ],
)  # fmt: skip
def test_quantities(text, value):
    assert amount(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["", "x", "1 G", "1Zi", "--1", "1e999", "9" * 500, "1kk", None, 8, "NaN", "٣"])
def test_what_is_no_quantity(text):
    assert math.isnan(amount(text))


def test_gpu_resources():
    names = ["nvidia.com/gpu", "amd.com/gpu", "gpu", "nvidia.com/mig-1g.5gb", "cpu", "nvidia.com/gpumem", "rdma/hca"]
    assert [is_gpu(name) for name in names] == [True, True, True, True, False, False, False]


API = "apiVersion: kueue.x-k8s.io/v1beta2\n"
QUEUES = f"""\
{API}kind: ClusterQueue
metadata: {{name: a}}
spec:
  resourceGroups:
  - coveredResources: [nvidia.com/gpu, cpu]
    flavors:
    - name: a100
      resources: [{{name: nvidia.com/gpu, nominalQuota: 20}}, {{name: cpu, nominalQuota: 9k}}]
    - name: spot
      resources: [{{name: nvidia.com/gpu, nominalQuota: 0}}]
---
{API}kind: Cohort
metadata: {{name: all}}
spec: {{resourceGroups: [{{flavors: [{{name: a100, resources: [{{name: amd.com/gpu, nominalQuota: "7"}}]}}]}}]}}
---
{API}kind: LocalQueue
metadata: {{name: a}}
"""


def stand_in(text):
    tree = collect([TraceText(text.encode(), "q")]).tree()
    return None if tree is None else cluster_of_quotas(tree.tree)


def test_quotas_as_a_cluster():
    found = stand_in(QUEUES)
    assert found is not None
    assert [(p.count, p.vm.gpus, p.vm.gpu_type, p.vm.name) for p in found.cluster.pools] == [
        (3, 8, "a100", "a100 quota, 8 GPUs"),
        (1, 3, "a100", "a100 quota, 3 GPUs"),
    ]
    described = read_cluster(QUEUES.encode(), "q")
    assert described.cluster == found.cluster
    assert "quota, put on nodes of 8 GPUs" in described.words
    with pytest.raises(InputError, match="neither nodes nor GPU quotas"):
        read_cluster(f"{API}kind: LocalQueue\n".encode(), "q")
    assert stand_in(f"{API}kind: LocalQueue\nmetadata: {{name: a}}\n") is None
    with pytest.raises(InputError, match=r"ClusterQueue a, flavor a100, nvidia.com/gpu: nominalQuota 'many' is no"):
        stand_in(QUEUES.replace("nominalQuota: 20}", "nominalQuota: many}"))
    with pytest.raises(InputError, match=r"nominal: Input should be greater than or equal to 0, got -4"):
        stand_in(QUEUES.replace("nominalQuota: 20}", "nominalQuota: -4}"))
    for quota in ("1M", "1Gi"):
        with pytest.raises(InputError, match="the limit of a cluster is 100,000"):
            stand_in(QUEUES.replace("nominalQuota: 20}", f"nominalQuota: {quota}}}"))

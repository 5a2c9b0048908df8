from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.workload.defaults import describe_default
from dlsched.workload.notes import cluster_notes, is_default_note, is_price_note

DEFAULT = describe_default(Cluster(pools=(Pool(vm=VmType(name="8-GPU node"), count=3),)))
PRICE = "$2.50 per GPU-hour (example price, not a quote)"


def test_the_default_cluster_names_its_rule():
    assert DEFAULT == (
        "Default cluster: 3 x 8-GPU node, the smallest number of 8-GPU nodes that fits the widest job at load 0.7"
    )
    assert is_default_note(DEFAULT)
    assert not is_default_note("due = submit + 1–3 x fastest time")
    assert is_price_note(PRICE)


def test_a_cluster_kept_for_other_jobs_keeps_its_notes_but_not_the_claim_about_the_jobs():
    kept = cluster_notes(("read as: team", DEFAULT, PRICE))
    assert kept == (DEFAULT.replace("Default cluster", "Default cluster of earlier jobs"), PRICE)
    assert cluster_notes(kept) == kept
    assert is_default_note(kept[0])

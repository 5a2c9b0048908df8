"""Queues and quotas on the page Cluster: tables of the tree, general rules, and where a tree comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import pandas as pd
import streamlit as st

from dlsched.domain.assumptions import Assumption
from dlsched.domain.errors import InputError, validated
from dlsched.domain.queue_tree import Cohort, MapColumn, Queue, QueueTree, Quota, ResourceName
from dlsched.domain.scenario import Scenario
from dlsched.ui.frame import session, tables, writing
from dlsched.ui.frame.forms import label_of, model_fields
from dlsched.ui.frame.parts import error_box, guard_rails, mistakes_shown
from dlsched.ui.frame.tables import is_empty, number_of, text_of
from dlsched.ui.frame.text import safe
from dlsched.ui.frame.uploads import read_once, tag_of
from dlsched.wording.queues import queue_words, tree_cautions
from dlsched.workload.queues_from_jobs import RULE_HELP, RULES, Rule, tree_of_groups
from dlsched.workload.readers import read_queues
from dlsched.workload.readers.kubernetes.queue_objects import EXPORT

MOST_GROUPS = 5_000
QUEUE, COHORT = "queue", "cohort"
NOTE = "Queues: "
"""How assumptions about queues begin."""
OF_QUEUE = (
    "strategy", "within", "reclaim", "while_borrowing", "while_borrowing_below", "when_can_borrow", "when_can_preempt",
    "preference", "order",
)  # fmt: skip
"""Fields of a queue that are columns of its table; cohorts have none of them."""
IN_TABLES = ("tree", "cohorts", "aliases")
NOT_SHOWN = ("changes", "strategies", "usage_weights")
"""Fields that stay as they are: a scenario file can hold others."""
_number, _text, _select = st.column_config.NumberColumn, st.column_config.TextColumn, st.column_config.SelectboxColumn


def _queue_column(name: str) -> Any:
    info = Queue.model_fields[name]
    if name == "while_borrowing_below":
        return _number(label_of(name, info), help=info.description)
    return _select(label_of(name, info), options=list(get_args(info.annotation)), help=info.description)


NODE_COLUMNS: Mapping[str, Any] = {
    "name": _text("Name", max_chars=120, help="Name of the queue or cohort"),
    "kind": _select("Kind", options=[QUEUE, COHORT], default=QUEUE, help="Jobs wait in queues; a cohort holds queues"),
    "parent": _text("Cohort", max_chars=120, help="Cohort above, whose members lend to one another; empty = none"),
    "weight": _number("Weight", min_value=0.0, default=1.0, help="Weight under fair sharing"),
    **{name: _queue_column(name) for name in OF_QUEUE},
}
QUOTA_COLUMNS: Mapping[str, Any] = {
    "node": _text("Queue or cohort", max_chars=120, help="Name as in the table above"),
    "flavor": _text("Flavor", max_chars=120, default="all", help="GPU type, pool:NAME, or all"),
    "resource": _select("Resource", options=list(get_args(ResourceName)), default="gpus", help="What is counted"),
    "nominal": _number("Quota", min_value=0.0, help="Own quota: GPUs, cores or GiB"),
    "borrow": _number("Borrow at most", min_value=0.0, help="Most above the own quota; empty = no limit"),
    "lend": _number("Lend at most", min_value=0.0, help="Most that others may use of it; empty = all"),
    "group": _number("Group", min_value=0, max_value=15, step=1, default=0,
                     help="Resources of one group are given the same flavor"),
}  # fmt: skip
ALIAS_COLUMNS: Mapping[str, Any] = {
    "name": _text("Name in the jobs", max_chars=120, help="Exact, or with * for any text"),
    "queue": _text("Queue", max_chars=120, help="Queue of these jobs"),
}


@dataclass(frozen=True)
class _Draft:
    """A tree that is not saved yet, with what is to be said of it."""

    tree: QueueTree
    notes: tuple[str, ...] = ()


def part(current: Scenario, *, disabled: bool = False) -> None:
    """Show the queues of a scenario and the ways to others; saving makes a new version.

    ``disabled``: nothing can be saved, as something else on the page is not.
    """
    tag = current.content_hash[: session.HASH_DIGITS]
    draft: _Draft | None = st.session_state.get(f"queue-draft-{tag}")
    start = current.queues if draft is None else draft.tree
    st.subheader("Queues and quotas", anchor=False, help="Who may use how much, and borrow what others leave idle; "
                 "obeyed by the policy Quota tree")  # fmt: skip
    actions = st.container(horizontal=True, vertical_alignment="center", gap="small")
    with actions:
        _from_file(tag)
        _from_groups(current, tag)
        if start is not None and writing.button("Remove queues", key="queues-remove", disabled=disabled,
                                           help="Reverted with “Undo last edit”"):  # fmt: skip
            _save(current, None, (), tag)
    if start is None:
        st.markdown(
            ":gray[No quotas: all jobs share the cluster. Drop what kubectl prints of Kueue's queues, or make a queue "
            "of each group of your jobs.]"
        )
        return
    made, mistake = _tables(start, current, tag)
    if mistake is not None:
        error_box(mistake)
    unsaved = made is not None and made != current.queues
    if made is not None:
        guard_rails(tree_cautions(current.replace(queues=made)))
    for note in () if draft is None else draft.notes:
        st.markdown(f":gray[{safe(note, 600)}.]")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if writing.button("Save queues", type="primary" if unsaved else "secondary", key="queues-save",
                     disabled=not unsaved or disabled, help="Makes a new version of the scenario"):  # fmt: skip
            assert made is not None
            _save(current, made, () if draft is None else draft.notes, tag)
        if draft is not None and st.button("Discard", key="queues-discard", help="Back to the saved queues"):
            _start_over(tag, None)
        told = "Not saved yet" if unsaved else "Saved"
        st.markdown(f":gray[{told}: {queue_words(made or start)}.]")


def _start_over(tag: str, draft: _Draft | None) -> None:
    """Show another tree from now on, the saved one for None."""
    for name in ("nodes", "quotas", "aliases"):
        tables.forget(f"queue-{name}-{tag}")
    if draft is None:
        st.session_state.pop(f"queue-draft-{tag}", None)
    else:
        st.session_state[f"queue-draft-{tag}"] = draft
    st.rerun()


def _save(current: Scenario, tree: QueueTree | None, notes: Sequence[str], tag: str) -> None:
    others = tuple(one for one in current.assumptions if notes == () or not one.text.startswith(NOTE))
    if tree is None:
        others = tuple(one for one in current.assumptions if not one.text.startswith(NOTE))
    told = tuple(Assumption(text=f"{NOTE}{note}") for note in notes)
    info = session.keep(current.replace(queues=tree, assumptions=(*others, *told)), based_on=current.content_hash)
    st.toast(f"Saved as version {info.version}.")
    _start_over(tag, None)


# ---- where a tree comes from -------------------------------------------------------------------------


def _from_file(tag: str) -> None:
    with st.popover("Read from a file", help="ClusterQueues, Cohorts, ResourceFlavors and LocalQueues of Kueue"):
        st.code(f"{EXPORT} > queues.yaml", language="bash", wrap_lines=True)
        files = st.file_uploader(
            "Queues of Kueue, YAML or JSON", accept_multiple_files=True, key=f"queues-files-{tag}",
            help="One or several files; what is not modelled is named",
        )  # fmt: skip
        if not files:
            return
        with mistakes_shown():
            contents = [file.getvalue() for file in files]
            found = read_once(files[0].name, tag_of(*contents), read_queues, contents)
            st.markdown(f"**{safe(queue_words(found.tree), 100)}**")
            if st.button("Use these queues", type="primary", key="queues-use"):
                _start_over(tag, _Draft(found.tree, found.notes))


def _from_groups(current: Scenario, tag: str) -> None:
    jobs = current.workload
    columns = [
        name for name in get_args(MapColumn)
        if (values := getattr(jobs, name)) is not None and (values != "").any()
        and len(set(values[:MOST_GROUPS].tolist())) > 1
    ]  # fmt: skip
    with st.popover(
        "Make from the jobs", disabled=not columns,
        help="One queue for each group, all in one cohort" if columns else "The jobs name no users, groups or classes",
    ):  # fmt: skip
        column = st.selectbox("One queue for each", columns, key="queues-column",
                              format_func=lambda name: str(name).replace("_", " "),
                              help="Column of the jobs that names their queue")  # fmt: skip
        rule: Rule = st.radio("Quota", list(RULES), format_func=RULES.__getitem__, key="queues-rule",
                              captions=[RULE_HELP[one] for one in RULES], help="How much each queue gets")  # fmt: skip
        if st.button("Make queues", type="primary", key="queues-make"):
            with mistakes_shown():
                words = f"made of the {column.replace('_', ' ')} of the jobs; quota: {RULES[rule].lower()}"
                _start_over(tag, _Draft(tree_of_groups(current, column, rule), (words,)))


# ---- tables and back ---------------------------------------------------------------------------------


def _tables(start: QueueTree, current: Scenario, tag: str) -> tuple[QueueTree | None, InputError | None]:
    """Show the tree as tables and general rules; return the tree they say, or what is wrong."""
    nodes = tables.editor(nodes_frame(start), f"queue-nodes-{tag}", NODE_COLUMNS,
                          alt="Queues and cohorts with their rules")  # fmt: skip
    quotas = tables.editor(quotas_frame(start), f"queue-quotas-{tag}", QUOTA_COLUMNS,
                           alt="Quotas of queues and cohorts by flavor and resource")  # fmt: skip
    with st.expander("General rules", key="queues-general"):
        key = tables.widget_key(f"queue-rules-{tables.widget_key(f'queue-nodes-{tag}')}")
        columns = [name for name in get_args(MapColumn) if getattr(current.workload, name) is not None]
        choices: dict[str, Any] = {
            "map": list(dict.fromkeys([start.map, *columns])),
            "unmapped": {"error": "refuse them", **{name: name for name in start.tree}},
        }
        with st.container(horizontal=True, gap="small"):
            rules = model_fields(QueueTree, key, start, hidden=(*IN_TABLES, *NOT_SHOWN), choices=choices, in_row=True)
        st.markdown("**Other names of queues** in the jobs")
        aliases = tables.editor(aliases_frame(start), f"queue-aliases-{tag}", ALIAS_COLUMNS,
                                alt="Names in the jobs and the queue that each stands for")  # fmt: skip
    try:
        return read_tables(nodes, quotas, aliases, rules, start), None
    except InputError as mistake:
        return None, mistake


def nodes_frame(tree: QueueTree) -> pd.DataFrame:
    """Return queues and cohorts as an editable table."""
    rows = [
        [name, QUEUE, queue.parent, queue.weight, *(getattr(queue, field) for field in OF_QUEUE)]
        for name, queue in tree.tree.items()
    ]
    rows += [[name, COHORT, cohort.parent, cohort.weight, *[None] * len(OF_QUEUE)]
             for name, cohort in tree.cohorts.items()]  # fmt: skip
    return pd.DataFrame(rows, columns=[*NODE_COLUMNS])


def quotas_frame(tree: QueueTree) -> pd.DataFrame:
    """Return all quotas as an editable table."""
    rows = [
        [name, quota.flavor, quota.resource, quota.nominal, quota.borrow, quota.lend, quota.group]
        for name, node in (*tree.tree.items(), *tree.cohorts.items())
        for quota in node.quota
    ]
    return pd.DataFrame(rows, columns=[*QUOTA_COLUMNS])


def aliases_frame(tree: QueueTree) -> pd.DataFrame:
    """Return the other names of queues as an editable table."""
    return pd.DataFrame(list(tree.aliases.items()), columns=[*ALIAS_COLUMNS])


def read_tables(
    nodes: pd.DataFrame, quotas: pd.DataFrame, aliases: pd.DataFrame, rules: Mapping[str, Any], before: QueueTree
) -> QueueTree:
    """Return the tree of the tables; rows that are only begun are left out, and what they do not show stays.

    Raises
    ------
    InputError
        Naming the row or the field, the rule and the value.
    """
    tree: dict[str, dict[str, Any]] = {}
    cohorts: dict[str, dict[str, Any]] = {}
    for row, record in tables.filled_rows(nodes):
        name = text_of(record["name"])
        if not name:
            continue
        if name in tree or name in cohorts:
            raise InputError(f"queues row {row}", f"there are two rows named {name!r:.80}", "Give one another name")
        is_cohort = record["kind"] == COHORT
        old: Cohort = before.cohorts.get(name, Cohort()) if is_cohort else before.tree.get(name, Queue())
        given: dict[str, Any] = {"parent": text_of(record["parent"]) or None, "quota": []}
        if not is_empty(record["weight"]):
            given["weight"] = number_of(record["weight"])
        if not is_cohort:
            given |= {field: record[field] for field in OF_QUEUE if not is_empty(record[field])}
            if is_empty(record["while_borrowing_below"]):
                given["while_borrowing_below"] = None
        (cohorts if is_cohort else tree)[name] = old.model_dump() | given
    for row, record in tables.filled_rows(quotas):
        name, nominal = text_of(record["node"]), number_of(record["nominal"])
        if not name or nominal is None:
            continue
        if name not in tree and name not in cohorts:
            why = f"names {name!r:.80}, which is no queue or cohort of the table above"
            raise InputError(f"quotas row {row}", why, "Correct the name")
        given = {
            "flavor": text_of(record["flavor"]) or "all", "resource": text_of(record["resource"]) or "gpus",
            "nominal": nominal, "borrow": number_of(record["borrow"]), "lend": number_of(record["lend"]),
            "group": int(number_of(record["group"]) or 0),
        }  # fmt: skip
        quota = validated(Quota, given, f"quotas row {row}")
        (tree if name in tree else cohorts)[name]["quota"].append(quota)
    if not tree:
        raise InputError("queues", "there is no queue", "Add a row of kind queue, or remove the queues")
    other = {text_of(one["name"]): text_of(one["queue"]) for _, one in tables.filled_rows(aliases)}
    kept = {name: getattr(before, name) for name in NOT_SHOWN}
    plain = dict(rules) | kept | {"tree": tree, "cohorts": cohorts}
    plain["aliases"] = {name: queue for name, queue in other.items() if name and queue}
    return validated(QueueTree, plain, "queues")

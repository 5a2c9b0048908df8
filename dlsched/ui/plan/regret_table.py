"""How far policies are behind the best, as an HTML table: text first, colour second, the worst case in a column."""

from __future__ import annotations

from html import escape

import numpy as np

from dlsched.figures.palette import Theme
from dlsched.figures.sweep_map import blended, ink_over
from dlsched.studies.design.measures import MEASURES
from dlsched.studies.sweep.answer import Regret, Sweep, best_at, loss_at, regrets, worst_point
from dlsched.studies.sweep.words import UNCLEAR, loss_words, point_words

MOST_SITUATIONS = 8
LEAST_TINT, MOST_TINT, FULL_AT_PERCENT = 0.12, 0.85, 100.0
"""How strong the colour of a loss is, as a share of the mark, and from how many percent it is at its strongest."""
STYLE = """<style>
.regret{border-collapse:separate;border-spacing:2px;font-variant-numeric:tabular-nums;width:100%%}
.regret caption{text-align:left;color:%(muted)s;padding-bottom:.4rem}
.regret th{font-weight:600;text-align:left;padding:.3rem .5rem;vertical-align:bottom}
.regret td{padding:.35rem .5rem;text-align:right}
.regret th[scope=row]{white-space:nowrap}
.regret .worst{border-left:3px solid %(muted)s;font-weight:600;position:sticky;right:0;background:%(ground)s}
.regret-scroll{overflow-x:auto}
</style>"""


def regret_table(sweep: Sweep, metric: str, theme: Theme) -> str:
    """Return a table of losses to the best policy: a row for each policy, a column for each situation, then the worst.

    Of many situations those with the largest losses; ★ marks the policy with the smallest largest loss.
    """
    found, columns = regrets(sweep, metric), situations(sweep, metric)
    heads = "".join(f"<th scope='col'>{escape(point_words(sweep, at))}</th>" for at in columns)
    rows = "".join(_row(sweep, metric, one, columns, theme) for one in found)
    caption = f"{MEASURES[metric].label}: behind the best policy of each situation"
    if len(columns) < len(sweep.points):
        caption += f"; of {len(sweep.points)} situations the {len(columns)} with the largest differences"
    style = STYLE % {"muted": theme.muted, "ground": theme.ground}
    return (
        f"{style}<div class='regret-scroll' tabindex='0'><table class='regret'>"
        f"<caption>{escape(caption)}</caption><thead><tr><th scope='col'>Policy</th>{heads}"
        f"<th scope='col' class='worst'>Worst case</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )


def situations(sweep: Sweep, metric: str) -> list[int]:
    """Return the points to show, in their order: all where they are few, else those with the largest losses."""
    losses = np.array([[np.nan if loss is None else loss for loss in one.losses] for one in regrets(sweep, metric)])
    worst = np.where(np.isnan(losses), -1.0, losses).max(axis=0)
    return sorted(np.argsort(-worst, kind="stable")[:MOST_SITUATIONS].tolist())


def _row(sweep: Sweep, metric: str, found: Regret, columns: list[int], theme: Theme) -> str:
    cells = "".join(_cell(sweep, metric, found, at, theme) for at in columns)
    if found.worst is None:
        worst = "<td class='worst'>–</td>"
    else:
        star = "★ " if found.safest else ""
        worst = _cell(sweep, metric, found, worst_point(found), theme, kind="worst", before=star)
    return f"<tr><th scope='row'>{escape(sweep.labels[found.policy])}</th>{cells}{worst}</tr>"


def _cell(sweep: Sweep, metric: str, found: Regret, at: int, theme: Theme, *, kind: str = "", before: str = "") -> str:
    words = cell_words(sweep, metric, found, at)
    if found.losses[at] is None:
        return f"<td class='{kind}'>–</td>"
    if not found.losses[at]:
        return f"<td class='{kind}'><strong>{before}{_in_parts(words)}</strong></td>"
    percent = found.percents[at]
    share = LEAST_TINT + (MOST_TINT - LEAST_TINT) * min(
        (FULL_AT_PERCENT if percent is None else percent) / FULL_AT_PERCENT, 1.0
    )
    ground = blended(theme.ground, theme.worse, share)
    return f"<td class='{kind}' style='background:{ground};color:{ink_over(ground)}'>{before}{_in_parts(words)}</td>"


def _in_parts(words: str) -> str:
    """Return a loss as HTML that breaks before its verdict alone, where the columns are narrow."""
    return escape(words).replace(" ", "&nbsp;").replace(",&nbsp;", ", ")


def cell_words(sweep: Sweep, metric: str, found: Regret, at: int) -> str:
    """Return a loss in words: "best", "+38%", "+4 h 10 min" where the best is next to 0, "+2%, not clear"."""
    size = found.losses[at]
    if not size:
        return "–" if size is None else "best"
    change = loss_at(sweep, at, found.policy, metric)
    unsure = f", {change.verdict}" if change is not None and change.verdict in UNCLEAR else ""
    return f"+{loss_words(sweep, found, metric, at)}{unsure}"


def regret_rows(sweep: Sweep, metric: str) -> list[dict[str, object]]:
    """Return every loss as a row, for the CSV: policy, situation, best policy there, loss, in percent."""
    return [
        {
            "policy": sweep.labels[one.policy],
            "situation": point_words(sweep, at),
            "best policy": sweep.labels.get(best_at(sweep, at, metric) or "", ""),
            "loss": cell_words(sweep, metric, one, at),
            f"loss of {metric}": one.losses[at],
            "loss, %": one.percents[at],
            "safe choice": "★" if one.safest else "",
        }
        for one in regrets(sweep, metric)
        for at in range(len(sweep.points))
    ]

"""A hook of MkDocs: every decision is a page of the site, in order, without a list that has to be kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    """Add the decisions to the navigation."""
    folder = Path(config["docs_dir"]) / "decisions"
    pages = [f"decisions/{path.name}" for path in sorted(folder.glob("[0-9]*.md"))]
    config["nav"].append({"Decisions": ["decisions/README.md", *pages]})
    return config

"""Where the files that come with the program are: beside the package in a checkout, inside it in an installation.

A wheel carries ``app.py``, ``pages/``, ``data/`` and ``.streamlit/`` in ``dlsched/_bundle``: ``[tool.hatch.build]`` in
pyproject.toml. Streamlit takes theme and settings from the folder ``.streamlit/`` beside the app.
"""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
BUNDLE = PACKAGE / "_bundle"
HOME = BUNDLE if BUNDLE.is_dir() else PACKAGE.parent
"""The folder of all of them."""
APP = HOME / "app.py"
DATA = HOME / "data"

"""Streamlit's own command line, told beforehand that the folder pages/ is not of its old kind.

With a folder of that name Streamlit takes an app that has not run yet for a multipage app of version 1, and tells the
first visitor of a link such as /compare that the page does not exist. The app builds its pages with st.navigation.
"""

from streamlit.runtime.pages_manager import PagesManager
from streamlit.web.cli import main

if __name__ == "__main__":
    PagesManager.uses_pages_directory = False
    main(prog_name="streamlit")

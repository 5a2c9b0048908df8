# Worker processes import this file under another name; they must not build pages, nor load Streamlit.
if __name__ == "__main__":
    import streamlit as st

    from dlsched.ui.navigation import navigation

    page = navigation()
    st.set_page_config(page_title=f"{page.title} · dlsched", page_icon="📅", layout="wide")
    page.run()

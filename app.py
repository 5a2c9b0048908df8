# Worker processes import this file under another name; they must not build pages, nor load Streamlit.
if __name__ == "__main__":
    import streamlit as st

    from dlsched.ui.frame import link
    from dlsched.ui.frame.identity import may_enter, signed_in_as
    from dlsched.ui.frame.navigation import navigation
    from dlsched.ui.frame.page import IMAGES, store_is_open
    from dlsched.ui.frame.parts import mistakes_shown
    from dlsched.ui.frame.turns import TURNS

    with TURNS.turn():
        mark = str(IMAGES / "mark.svg")
        st.set_page_config(page_title="dlsched", page_icon=mark, layout="wide", initial_sidebar_state=220)
        st.logo(str(IMAGES / "logo.svg"), size="large", icon_image=mark)
        is_open = may_enter() and store_is_open()
        link.arrive()
        page = navigation(hidden=not is_open)
        st.set_page_config(page_title=f"{page.title} · dlsched")
        if is_open:
            signed_in_as()
            with mistakes_shown():
                link.follow(page)
                page.run()
                link.answer()

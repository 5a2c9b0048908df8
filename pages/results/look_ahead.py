from dlsched.ui.results.look_ahead import look_ahead_page

look_ahead_page()

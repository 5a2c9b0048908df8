from dlsched.ui.results.compare import compare_page

compare_page()

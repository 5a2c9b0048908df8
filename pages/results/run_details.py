from dlsched.ui.results.result import result_page

result_page()

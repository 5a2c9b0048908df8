from dlsched.ui.results.run_details import run_details_page

run_details_page()

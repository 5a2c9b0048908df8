from dlsched.ui.results.admissions import admissions_page

admissions_page()

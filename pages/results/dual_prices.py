from dlsched.ui.results.dual_prices import dual_prices_page

dual_prices_page()

from dlsched.ui.results.queues import queues_page

queues_page()

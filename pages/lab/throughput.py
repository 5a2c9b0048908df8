from dlsched.ui.frame import page
from dlsched.ui.lab import throughput_form, throughput_next, throughput_view

current = page.begin("Throughput")
asked, action = throughput_form.chosen()
if asked is None:
    throughput_next.nothing_yet(action)
else:
    throughput_view.answer(asked.curves, asked.source, asked.batch)
    throughput_next.steps(asked.curves, asked.source, current, action)
throughput_view.how()

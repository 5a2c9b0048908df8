from dlsched.ui.frame import page
from dlsched.ui.lab import servers_form, servers_view

current = page.begin("Parameter servers")
asked, action = servers_form.chosen(current)
servers_view.next_step(current, action)
if asked is not None:
    servers_view.answer(asked)
servers_view.how()

from dlsched.ui.frame import page, parts
from dlsched.ui.simulate import history, policies

current = page.begin("Run", assumed=False)
if parts.part_of_page(("Policies", "History")) == "History":
    history.show()
else:
    policies.show(current)

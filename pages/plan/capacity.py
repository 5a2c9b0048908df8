from dlsched.ui.frame import page
from dlsched.ui.plan import capacity

capacity.follow_link()
current = page.begin("Capacity", assumed=False)
capacity.show(current)

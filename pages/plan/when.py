from dlsched.ui.frame import page
from dlsched.ui.plan import when

when.follow_link()
current = page.begin("When jobs start", assumed=False)
when.show(current)

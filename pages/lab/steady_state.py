from dlsched.studies.steady.words import HOW
from dlsched.ui.answers import follow_link
from dlsched.ui.frame import page
from dlsched.ui.lab.steady_state import STEADY, fields, fill, next_step, show
from dlsched.ui.study_page import Form, study_page

follow_link(STEADY)
current = page.begin("Load test", assumed=False)
study_page(STEADY, current, Form(fill, fields), show, how=HOW, next_step=next_step)

from dlsched.ui.answers import follow_link
from dlsched.ui.frame import page
from dlsched.ui.plan import sweep_form, sweep_view
from dlsched.ui.plan.sweep_runs import SWEEPS
from dlsched.ui.study_page import Form, study_page

follow_link(SWEEPS)
current = page.begin("Sweep", assumed=False)
study_page(
    SWEEPS, current, Form(sweep_form.fill, sweep_form.fields), sweep_view.show,
    before="How does the answer move over a range, and which policy is the safe choice?", how=sweep_view.HOW,
    above=sweep_form.presets, earlier="Earlier sweeps",
)  # fmt: skip

from dlsched.ui.frame import page
from dlsched.ui.lab import fill_times
from dlsched.ui.lab.training_time import chosen, prediction, show, terms

current = page.begin("Training time", assumed=False)
models, action = chosen()
if models is None:
    fill_times.nothing_yet(action)
else:
    show(models)
    terms(models)
    prediction(models, current.cluster)
    fill_times.section(models, current, action)

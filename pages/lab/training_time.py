from dlsched.ui.frame import page
from dlsched.ui.lab import training_fill, training_predict, training_rows, training_view

current = page.begin("Training time")
models, action = training_rows.chosen()
if models is None:
    training_fill.nothing_yet(action)
else:
    training_view.answer(models)
    training_view.terms(models)
    training_predict.form(models, current.cluster)
    training_fill.section(models, current, action)

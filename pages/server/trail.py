from dlsched.ui.frame import page
from dlsched.ui.server import trail

page.begin("Audit trail", url=(), bar=False)
trail.show()

from dlsched.ui import page

current = page.begin("Catalogue")

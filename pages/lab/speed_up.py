from dlsched.ui.frame import page, parts
from dlsched.ui.lab.speed_up import PARTS

current = page.begin("Speed-up", assumed=False)
PARTS[parts.part_of_page(PARTS)](current)

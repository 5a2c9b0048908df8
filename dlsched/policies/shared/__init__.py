"""What several families of policies need: facts of jobs, opening VMs on free slots, walks along a queue."""

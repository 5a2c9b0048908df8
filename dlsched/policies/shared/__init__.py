"""What several families of policies need: facts of jobs, opening VMs on rented slots, walks along a queue."""

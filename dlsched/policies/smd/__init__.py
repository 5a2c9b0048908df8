"""SMD: how many workers and servers each job gets, and which jobs are admitted in a scheduling interval."""

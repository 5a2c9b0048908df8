"""Pages about runs that were made: one run, several compared, the decisions inside a policy."""

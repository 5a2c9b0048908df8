"""What schedulers print of their nodes, as clusters."""

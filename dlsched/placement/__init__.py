"""Placement rules: how a width turns into shares of nodes."""

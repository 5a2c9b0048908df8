"""Kinds of drawn workloads, one module a kind or paper: specification, draw, speed model, scenario, assumptions."""

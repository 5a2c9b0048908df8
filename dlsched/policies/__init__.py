"""Scheduling policies, one folder a family; families do not import each other."""

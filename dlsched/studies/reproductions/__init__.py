"""Figures and tables of the papers, computed anew: claim, our numbers, and whether they agree."""

"""Statistics over draws: intervals, batch means, knees, paired comparisons."""

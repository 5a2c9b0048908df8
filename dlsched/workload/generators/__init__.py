"""What drawn workloads are made of: arrivals, run times, ranges, days of a trace drawn again, rules that fill gaps."""

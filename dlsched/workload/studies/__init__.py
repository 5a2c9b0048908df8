"""The workloads of the published studies, one module a paper."""

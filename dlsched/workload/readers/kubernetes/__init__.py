"""Lists of Kubernetes objects: Kueue's Workloads are jobs, its queues are quotas, the rest is named."""

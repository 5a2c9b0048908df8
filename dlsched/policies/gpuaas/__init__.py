"""GPU as a service: which machines to rent, which job runs on which GPUs, at least cost (path relinking and rivals)."""

from dlsched.policies.gpuaas.specs import GPUAAS

__all__ = ["GPUAAS"]

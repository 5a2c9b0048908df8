"""GPU as a service: which machine types to rent, who runs on which GPUs, at least cost (path relinking and rivals)."""

from dlsched.policies.gpuaas.specs import GPUAAS

__all__ = ["GPUAAS"]

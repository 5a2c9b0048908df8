"""A policy that is another process: a program in any language, asked over its standard input and output."""

from dlsched.policies.external.spec import KEY, VARIABLE, configured_policy, external_policy

__all__ = ["KEY", "VARIABLE", "configured_policy", "external_policy"]

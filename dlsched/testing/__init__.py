"""Testing a policy of your own: the suite that every policy of dlsched passes, as a function.

::

    from dlsched.testing import check_policy
    from my_package import SPEC

    def test_my_policy():
        check_policy(SPEC).raise_for_failures()
"""

from dlsched.testing.suite import CHECKS, Check, Outcome, PolicyCheckFailed, PolicyReport, check_policy, run_check

__all__ = ["CHECKS", "Check", "Outcome", "PolicyCheckFailed", "PolicyReport", "check_policy", "run_check"]

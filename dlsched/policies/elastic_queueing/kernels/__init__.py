"""The decisions of this family in compiled loops, shared by the policy and the simulator's fast path."""

"""Accounting logs of batch schedulers, one record a finished job: PBS and TORQUE, LSF, Grid Engine."""

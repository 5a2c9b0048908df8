"""Settings of a Slurm: slurm.conf, scontrol show config, partition and res, sacctmgr show qos and assoc, sshare."""

"""Run trials: in this process, in worker processes on this machine, or on a Ray cluster."""

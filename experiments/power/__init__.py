"""Power: rehearse an experiment with a simulated agent, and tell what it would find before it is run."""

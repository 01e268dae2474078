"""The parts that all experiment files share."""

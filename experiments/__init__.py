"""What is asked: experiment files, their designs and trials, the runner, the records, the command line."""

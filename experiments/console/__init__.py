"""What people see in the terminal, and commands that go on in the background."""

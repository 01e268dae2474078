"""What was stored: the database and all that reads and writes it."""

"""The stored data: the database, and all that reads and writes it."""

"""What a database is worth: checked, repaired, moved, merged, and proved by its chain."""

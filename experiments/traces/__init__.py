"""Write stored trials as traces that other tools read."""

"""How trials ended, in how many steps, and what was proved of their treatment."""

"""Who acts: the agent protocol, simulated shoppers with known tastes, and language-model shoppers."""

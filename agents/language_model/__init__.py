"""A language model as agent: its prompt, its answers."""

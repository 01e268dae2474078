"""Page edits: their YAML, the site maps that they need, and the engine that applies them to a page."""

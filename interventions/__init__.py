"""What a page edit is: its YAML, the site maps it relies on, and the engine that applies it to a page."""

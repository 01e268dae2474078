"""The edits: one class in one file each. A package adds its own by the entry point group `souk.edits`."""

"""The edits, one class per file. A package adds its own by the entry point group `souk.edits`."""

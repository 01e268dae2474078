"""Designs: files become designs, and designs become trials."""

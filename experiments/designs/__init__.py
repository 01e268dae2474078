"""What is asked: files become designs, and designs become trials."""

"""Run stored episodes again and compare them."""

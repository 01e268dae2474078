"""Whether a trial is what it should be: what was done, what stood on the pages, and what that proves."""

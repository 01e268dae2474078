"""Programs of users that act: started, confined, limited and ended."""

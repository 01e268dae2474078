"""What each screen shows, as values for its template."""

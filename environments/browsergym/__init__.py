"""A shop as a task of BrowserGym."""

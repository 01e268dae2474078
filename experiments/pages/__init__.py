"""Look at pages: previews, differences, the map of a site."""

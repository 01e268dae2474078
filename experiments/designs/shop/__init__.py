"""Studies in a shop: products on pages, nudges, orders."""

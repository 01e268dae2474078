"""Propose a site map for an unknown shop, from a product's page and perhaps a listing."""

"""Proposes a site map for a shop never seen before, from a product's page and perhaps a listing."""

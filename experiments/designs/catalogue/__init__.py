"""Catalogues: the products of a shop as a table, read and imported, and which titles are left out."""

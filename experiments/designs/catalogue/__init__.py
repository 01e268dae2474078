"""Catalogues: read or import the products of a shop as a table, and leave out pushing titles."""

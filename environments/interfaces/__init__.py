"""Where agents act without pages: on a shop's products as data, and on its tools."""

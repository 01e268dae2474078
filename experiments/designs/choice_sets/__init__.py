"""Which products stand against each other: choice sets of comparable products, or those of a file."""

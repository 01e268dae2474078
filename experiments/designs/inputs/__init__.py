"""What every experiment file is made of."""

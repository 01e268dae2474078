"""Put a run into one file, for others to check and to build on."""

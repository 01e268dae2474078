"""Look at runs in a browser: pages over the records, made on the server, that write nothing."""

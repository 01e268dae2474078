"""Pages as text and markup: parsing, splices, marks, security policy."""

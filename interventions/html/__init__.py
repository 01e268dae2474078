"""Pages as text and markup: parsing, splices, marks, content security policy."""

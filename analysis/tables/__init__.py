"""Tables that analyses read and give."""

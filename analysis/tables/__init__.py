"""The tables that analyses read and return."""

"""The shop by UCP 2026-04-08, over REST and MCP: the same catalogue, carts and orders as on its pages."""

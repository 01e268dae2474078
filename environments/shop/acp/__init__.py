"""The shop by the Agentic Commerce Protocol (ACP): feed and checkout sessions."""

"""What an agent is given and gives back, what is counted of its time, and the messages of MCP."""

"""What an agent is given and gives back: observations and actions, and what is counted of its time."""

"""Read intervention files and batteries of cards."""

"""Choice cards: questions that are asked as a page or as a prompt, with the same content in both."""

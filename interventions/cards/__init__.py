"""Choice cards: what a subject is asked, apart from where. One content, shown as a page or as a prompt."""

"""What an agent does on a page is carried out."""

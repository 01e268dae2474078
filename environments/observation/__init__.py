"""What stands on a page is read: as HTML, as a tree, in a picture, once the page is quiet."""

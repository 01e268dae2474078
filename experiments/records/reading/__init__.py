"""What is asked of stored trials: lists, tables, grids, notes, plans."""

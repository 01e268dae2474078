"""Apply edits to a page: the plan, the engine, and the product data in JSON."""

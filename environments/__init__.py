"""Where agents act: the embedded shop, the browser, what an agent sees (observation) and may do (action)."""

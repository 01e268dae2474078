"""What the choices mean: tidy tables in; estimates, figures and a report out.

Imports nothing else of Souk, so that any study's table in the documented columns can be analysed.
"""

"""Designs whose answers are scored, not sampled: stimuli, anchors and sets of fields become prompts."""

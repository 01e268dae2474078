"""What moves choices: linear models, logits, groups, trade-offs, and how far they hold."""

"""Plans: register a study before its first trial, judge its hypotheses, write its methods section."""

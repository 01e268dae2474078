"""Run people through the trials that agents have: a study with consent, blocks, codes and a debriefing."""

"""Form choice sets of comparable products, or read them from a file."""

from experiments.designs.choice_sets.forming import FormedSets as FormedSets
from experiments.designs.choice_sets.forming import form_choice_sets as form_choice_sets
from experiments.designs.choice_sets.pairings import ChoiceSet as ChoiceSet

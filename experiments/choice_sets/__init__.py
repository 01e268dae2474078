"""Which products stand against each other: choice sets of comparable products, or those of a file."""

from experiments.choice_sets.form import FormedSets as FormedSets
from experiments.choice_sets.form import form_choice_sets as form_choice_sets
from experiments.choice_sets.pairings import ChoiceSet as ChoiceSet

"""The checks of a card, by what they look at."""

"""What a card's file holds that would spoil an experiment: leaks, copies, constants, gaps, tiny groups."""

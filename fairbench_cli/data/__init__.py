"""Data sets: the card, the file, and the coded table that everything else works on."""

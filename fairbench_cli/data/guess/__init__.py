"""What a table without a card looks like: its layout, what its columns are, and a card that says so."""

"""What became of each disparity, from one model, or slice of the rows, to the next."""

"""What a run keeps: finished repeats, versions, checksums, and who holds the folder."""

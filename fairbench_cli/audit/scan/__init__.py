"""From a file, frame or arrays to counts: columns found, decisions made, rows counted."""

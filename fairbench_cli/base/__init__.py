"""What every room stands on: errors, text, files, strict YAML, validation, anybody's code."""

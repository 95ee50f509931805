"""What fairbench says, whatever the medium: an answer, sections, tables and charts; one writer a medium."""

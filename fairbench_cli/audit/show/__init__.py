"""An audit on paper: console rows, CSV, JSON, Markdown, HTML, PDF and database tables."""

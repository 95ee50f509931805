"""``fairbench web``: an audit in a browser, on this machine alone. Pages around what `fb` gives, no audit logic."""

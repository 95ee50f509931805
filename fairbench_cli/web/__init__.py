"""``fairbench web``: an audit in a browser, on this machine alone; pages around what `fb` gives."""

"""What ``import fairbench_cli as fb`` gives, apart from the audit: data sets, networks, runs, measures."""

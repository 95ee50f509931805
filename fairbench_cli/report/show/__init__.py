"""What people see of a run: its answer, page, tables and figures."""

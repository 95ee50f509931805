"""Repair of single columns: the groups' distributions are moved towards a common one."""

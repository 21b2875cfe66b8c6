"""Fault tests on a real worker process; afterwards every record is accounted for."""

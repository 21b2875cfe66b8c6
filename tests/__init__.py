"""Tests: units mirror the source; contracts, properties, faults and services stand beside them."""

"""Odd records from the field."""

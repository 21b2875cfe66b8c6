"""Masks that a topic could have: suggested from its lines, and what a change of masks would merge and split."""

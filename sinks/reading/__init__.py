"""Reads lines out of any sink's blocks: copies resolved, inner blocks left out, counts exact."""

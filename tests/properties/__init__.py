"""Hypothesis: rules that hold for every input, against an independent oracle."""

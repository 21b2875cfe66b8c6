"""Tests of a model's files; `tiny` makes small model folders."""

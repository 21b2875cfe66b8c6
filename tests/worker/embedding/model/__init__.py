"""Tests of what a model is on disk; `tiny` makes small folders to try it on."""

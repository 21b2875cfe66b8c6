"""Tests of what can be asked."""

"""Tests of worker.groups."""

"""Tests of the cache levels."""

"""Unit tests of producers, one file per module."""

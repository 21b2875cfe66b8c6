"""Unit tests of producers, one file a module."""

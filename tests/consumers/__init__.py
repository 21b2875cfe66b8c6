"""Unit tests of consumers, one file a module."""

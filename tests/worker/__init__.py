"""Unit tests of worker, one file a module."""

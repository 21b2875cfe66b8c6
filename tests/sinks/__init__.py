"""Unit tests of sinks, one file a module."""

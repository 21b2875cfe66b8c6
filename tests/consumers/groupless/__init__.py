"""Unit tests of consumers/loose."""

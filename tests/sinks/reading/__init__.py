"""Tests of reading: pure parts alone, and every question on the fake sink."""

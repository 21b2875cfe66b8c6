"""Tests of what happened to any record."""

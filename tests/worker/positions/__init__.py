"""Tests of worker.positions."""

"""Tests of worker.watching."""

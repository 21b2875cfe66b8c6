"""Tests of worker.observability."""

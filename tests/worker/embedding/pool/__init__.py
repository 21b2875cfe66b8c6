"""Tests of the pool of models."""

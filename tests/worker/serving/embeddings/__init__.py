"""Tests of the embedding API without HTTP."""

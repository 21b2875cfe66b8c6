"""Mutations that lose or invent something, and the proof that the tests notice each of them: `python -m tests.sabotage`."""

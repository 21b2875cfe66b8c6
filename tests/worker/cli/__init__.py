"""Tests of the command line: most run the real program as a child process and check what its user sees."""

"""Tests of the command line: most run the real program as a child process and judge it by what its user sees."""

"""Real servers for tests, started on loopback and stopped by process id."""

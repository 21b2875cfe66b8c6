"""`make soak`: a worker under twice its load and random faults, for any length of time."""

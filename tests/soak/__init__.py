"""A worker for as long as one likes, under twice its load and random faults; `make soak`."""

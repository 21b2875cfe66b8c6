"""One suite for each border, run on the fake and on the real thing."""

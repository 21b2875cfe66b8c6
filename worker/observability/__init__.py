"""Whether the worker is alive and ready, how far behind it is, and what it has done: what its pages and its metrics say."""

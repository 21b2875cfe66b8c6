"""Status pages and metrics: whether the worker is alive and ready, how far behind it is, and what it has done."""

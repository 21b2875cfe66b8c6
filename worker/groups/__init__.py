"""Where a consumer group stands in its topics, how far behind that is, and moving it. For the tools; a worker commits by itself."""

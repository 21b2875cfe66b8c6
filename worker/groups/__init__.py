"""Consumer groups as the tools see them: where a group stands, how far behind it is, and how to move it."""

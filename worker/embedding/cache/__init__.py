"""The levels that may save embedding: this process's memory, then Redis; each is a `VectorCache`, and may only miss, never be wrong."""

"""The cache levels that save embedding: memory, Redis, the index. A level may miss but never return a wrong vector."""

"""Other libraries that turn texts into vectors, each in its own process, for `benchmarks.engines` to compare with."""

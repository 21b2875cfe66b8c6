"""Other people's ways from text to vector, each in a process of its own, for `benchmarks.engines` to be compared with."""

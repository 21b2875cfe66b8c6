"""`python -m benchmarks`: runs the benchmarks one after another, keeps their figures, and writes the report from them."""

"""The benchmarks run and say the truth about ids; their figures are not tested."""

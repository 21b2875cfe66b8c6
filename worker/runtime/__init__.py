"""What every stage runs on: lanes, threads, limits, retries, logs."""

"""The real process, killed and starved; every record accounted for afterwards."""

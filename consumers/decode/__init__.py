"""From the bytes of a record to its log entries."""

"""The training of all-MiniLM-L6-v2-logs: questions about the messages of many programs, and the difference that it writes."""

"""From the text of a log entry to what is embedded: redaction, chunks, masks."""

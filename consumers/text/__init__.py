"""From the text of an entry to what is embedded: redacted, split, masked."""

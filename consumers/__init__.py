"""Everything between Kafka and a chunk: reading, the ledger of what is open, decoding, splitting, masking."""

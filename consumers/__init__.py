"""Everything between Kafka and a chunk: reading, the ledger of open records, decoding, splitting, masking."""

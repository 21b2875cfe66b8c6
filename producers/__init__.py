"""Everything that vectail writes to Kafka: replies, dead letters, and the feed of a demo or a file."""

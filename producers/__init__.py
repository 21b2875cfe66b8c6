"""Everything that vectail writes to Kafka: replies, dead letters, and the lines of `feed` and `demo`."""

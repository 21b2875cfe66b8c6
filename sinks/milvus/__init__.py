"""The Milvus sink: one server, or a local folder (Milvus Lite); `sinks.milvus.sink` is its door."""

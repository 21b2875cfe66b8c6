"""The Milvus sink: a server, or a local folder (Milvus Lite). `sinks.milvus.sink` is its entry."""

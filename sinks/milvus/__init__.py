"""The Milvus sink: a server, or a local folder (Milvus Lite). `sinks.milvus.milvus_sink` is its entry."""

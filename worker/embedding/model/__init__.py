"""An embedding model on disk: its Hugging Face folder, the GGUF made from it, and the golden vectors that check engines."""

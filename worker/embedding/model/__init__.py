"""What an embedding model is on disk: its Hugging Face folder, the GGUF made from it, and the golden vectors that judge engines."""

"""The embedding API without HTTP and without threads: what clients send as values, what they get as bytes, and why they are refused."""

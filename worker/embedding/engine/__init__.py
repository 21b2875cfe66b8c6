"""The engines that turn token ids into vectors, behind one protocol."""

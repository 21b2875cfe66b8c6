"""The running service: its stages wired together, how it ends, and what it says of itself."""

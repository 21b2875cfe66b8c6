"""The worker's own pages, and what they rest on."""

"""What happened to any record: what the index owes for it, what is stored, what was buried, and how the rest is made good."""

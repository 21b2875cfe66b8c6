"""`make fuzz`: coverage-guided fuzzing of everything that decodes bytes of strangers."""

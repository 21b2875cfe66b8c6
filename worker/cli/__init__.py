"""The command line: the verbs of `vectail`, their options, and what they print."""

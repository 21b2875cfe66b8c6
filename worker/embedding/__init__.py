"""Where a vector is made: token ids in, checked vectors out."""

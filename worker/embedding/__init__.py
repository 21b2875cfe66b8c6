"""Where a vector is made: texts are tokenised, batched, computed, checked and cached."""

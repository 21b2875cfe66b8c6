"""Where a question is answered: a query in, one reply out."""

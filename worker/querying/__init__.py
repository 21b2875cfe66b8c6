"""Where queries are answered: requests in, one reply each."""

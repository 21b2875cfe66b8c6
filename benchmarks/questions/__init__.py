"""The log-retrieval benchmark: graded questions about labelled logs, and what each way to make texts of lines finds for them."""

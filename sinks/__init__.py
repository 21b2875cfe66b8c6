"""Where rows are stored: the contract of every sink, and the rows that it stores."""

"""Where rows are stored: the border every sink keeps, and the rows that cross it."""

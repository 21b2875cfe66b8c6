"""What can be asked of the index, and in which words: questions, filters, moments and places, answers and refusals."""

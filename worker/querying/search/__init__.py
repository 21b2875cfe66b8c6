"""Search: from a query's vector and words to ranked kinds of lines, and the lines that stand for them."""

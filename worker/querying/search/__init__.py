"""Search: from a query's vector and words to ranked templates, and the lines that stand for them."""

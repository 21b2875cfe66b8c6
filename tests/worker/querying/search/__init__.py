"""Tests of search: rankings on the fake sink, and what a query gets back from them."""

"""Fakes of what is outside; each passes the contract suite of the thing it stands for."""

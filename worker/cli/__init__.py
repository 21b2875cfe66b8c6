"""The command line: one verb a file, and `app.py`, which gives them their names and options."""

"""Every setting: its table, its default, its bounds, and where it is read from."""

"""The settings: tables with types, defaults and bounds, and reading them from file, environment and flags."""

"""What the worker answers over HTTP; only `server`, `api` and `mcp_server` load libraries for it."""

"""What the worker answers over HTTP. `worker.service` starts and ends it; only `server`, `api` and `mcp_server` load libraries for it."""

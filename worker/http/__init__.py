"""What the worker answers over HTTP. `worker.service` starts and ends it; only `server` and `api` load the libraries it needs."""

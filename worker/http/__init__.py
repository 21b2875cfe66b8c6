"""What the worker answers over HTTP. `worker.service` opens and ends it; only `server` and `api` load the libraries for it."""

"""The page in Chromium, driven by Playwright: against a server with canned answers, and against a real worker."""

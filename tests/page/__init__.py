"""The page in Chromium, driven by Playwright: over lines in memory, and against a real worker."""

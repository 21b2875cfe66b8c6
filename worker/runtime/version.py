"""The product's version, from what is installed."""

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("vectail")
except PackageNotFoundError:  # run from a source tree that was never installed
    VERSION = "0+unknown"

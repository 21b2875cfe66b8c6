"""Tests of the cache's levels."""

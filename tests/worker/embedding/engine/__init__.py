"""Tests of the engines beyond their common contract."""

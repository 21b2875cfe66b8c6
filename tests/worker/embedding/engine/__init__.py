"""Tests of engines beyond the contract that all of them share."""

"""Changing the model of an index while it is searched and filled: a second view is filled, judged, and then asked in place of the first."""

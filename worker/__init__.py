"""The running program: wires consumers, sinks and producers together and owns the threads."""

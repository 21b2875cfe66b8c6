"""A simulated day of the chart's autoscaling: `python -m tests.deploy.autoscale --json`.

The HPA's algorithm as Kubernetes 1.36 has it, with the chart's own behaviour and formula, the recording rules of
deploy/prometheus/rules/scaling.yml, and workers as fast as ours were measured. It shows that the parts fit together; no cluster runs.
"""

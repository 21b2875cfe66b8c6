"""Tests of what watches vectail: Prometheus' rules and Grafana's dashboards, by Prometheus' own tools and on a real worker."""

"""Tests of the Helm chart and of its autoscaling. No cluster runs here: Helm, kubeconform, promtool and KEDA's library judge."""

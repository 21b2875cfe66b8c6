"""Values that people would give the chart: every branch of its templates is in one of them."""

from collections.abc import Mapping
from typing import Any

TOKEN = {"httpToken": {"existingSecret": "vectail-http"}}
_MONITORED = {"serviceMonitor": {"enabled": True}, "prometheusRule": {"enabled": True}, "dashboards": {"enabled": True}}
_SECRETS = [
    {"variable": "VECTAIL_MILVUS__PASSWORD", "existingSecret": "milvus", "key": "password"},
    {"variable": "VECTAIL_KAFKA__LIBRDKAFKA__SASL_PASSWORD", "existingSecret": "kafka-user", "key": "password"},
    {"variable": "VECTAIL_SERVE__TOKEN", "existingSecret": "vectail-http", "key": "serve"},
]
_OF_INDEX = {"enabled": True, "maxReplicas": 24}
_TO_ZERO = {**_OF_INDEX, "minReplicas": 0, "kafka": {"bootstrapServers": "kafka:9092", "topic": "logs", "authenticationRef": "kafka"}}
_GPU = {
    "resources": {"limits": {"nvidia.com/gpu": 1, "memory": "16Gi"}, "requests": {"cpu": 4}},
    "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
    "nodeSelector": {"accelerator": "h100"},
    "runtimeClassName": "nvidia",
    "extraEnv": [{"name": "VECTAIL_ENGINE__NAME", "value": "vllm"}],
    "extraVolumes": [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}],
    "extraVolumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],  # noqa: S108 - of the pod
}
_ZONE = {"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]}]}
_AFFINITY = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [_ZONE]}}}
_FROM = [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}]
_EGRESS = [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}], "ports": [{"port": 9092, "protocol": "TCP"}, {"port": 19530, "protocol": "TCP"}]}]

VALUES: Mapping[str, Mapping[str, Any]] = {
    "least": {},
    "embed": {"embed": {"enabled": True, "replicas": 3}, "secrets": _SECRETS},
    "monitored": {"monitoring": _MONITORED, "embed": {"enabled": True}, "commonLabels": {"team": "search"}},
    "static members": {"index": {"staticMembership": True, "replicas": 3}},
    "static members with claims": {
        "index": {"staticMembership": True, "dataClaim": {"enabled": True, "storageClassName": "fast", "size": "5Gi"}},
        "monitoring": _MONITORED,
    },
    "scaled": {"autoscaling": {"index": _OF_INDEX}, "monitoring": _MONITORED},
    "scaled to none": {"autoscaling": {"index": _TO_ZERO, "prometheus": {"authenticationRef": "prometheus"}}, "monitoring": _MONITORED},
    "scaled static members": {"index": {"staticMembership": True}, "autoscaling": {"index": _OF_INDEX}},
    "scaled embed": {"embed": {"enabled": True}, "autoscaling": {"embed": {"enabled": True, "maxReplicas": 8, "backlogSeconds": 1.5}}},
    "gpu": {"index": _GPU, "embed": {"enabled": True, **_GPU}, "query": {"extraEnv": _GPU["extraEnv"]}},
    "walled": {"networkPolicy": {"enabled": True, "from": _FROM, "egress": _EGRESS}, "podDisruptionBudget": {"enabled": False}},
    "openshift": {"runAsUser": None, "runAsGroup": None, "fsGroup": None, "topologySpread": {"enabled": False}},
    "mirrored image": {
        "image": {"repository": "registry.example.org:5000/ops/vectail", "digest": f"sha256:{'0' * 64}", "pullPolicy": "Always"},
        "imagePullSecrets": [{"name": "mirror"}],
        "serviceAccount": {"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/vectail"}},
    },
    "model without internet": {"model": {"existingClaim": "models", "folder": "bge-small-en-v1.5-0f3a"}, "embed": {"enabled": True}},
    "named": {
        "fullnameOverride": "log-search-of-the-whole-company-and-all-its-subsidiaries",
        "serviceAccount": {"create": False, "name": "ops"},
        "query": {"replicas": 1, "affinity": _AFFINITY, "priorityClassName": "high", "podAnnotations": {"a": "b"}, "podLabels": {"c": "d"}},
        "service": {"type": "LoadBalancer", "annotations": {"service.beta.kubernetes.io/aws-load-balancer-internal": "true"}},
        "drainSeconds": 120,
    },
    "files": {
        "secretFiles": [{"name": "milvus-ca.pem", "existingSecret": "milvus-tls", "key": "ca.crt"}],
        "config": '[milvus]\nuri = "https://milvus:19530"\nca_file = "/run/secrets/vectail/milvus-ca.pem"\n',
    },
}
"""What each differs in from values.yaml; `TOKEN` is added to all."""
REFUSED: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "no token": ({"httpToken": {"existingSecret": ""}}, "httpToken.existingSecret: name the Secret"),
    "latest": ({"image": {"tag": "latest"}}, "/image/tag"),
    "an unknown name": ({"index": {"replicaCount": 2}}, "replicaCount"),
    "no query pod": ({"query": {"replicas": 0}}, "/query/replicas"),
    "a secret by value": ({"secrets": [{"variable": "VECTAIL_REDIS__PASSWORD", "value": "hunter2"}]}, "value"),
    "a secret that is a file already": (
        {"secrets": [{"variable": "VECTAIL_REDIS__PASSWORD_FILE", "existingSecret": "redis", "key": "password"}]},
        "/secrets/0/variable",
    ),
    "claims of a deployment": ({"index": {"dataClaim": {"enabled": True}}}, "needs index.staticMembership"),
    "no partitions": ({"autoscaling": {"index": {"enabled": True}}}, "maxReplicas"),
    "none without brokers": ({"autoscaling": {"index": {"enabled": True, "maxReplicas": 6, "minReplicas": 0}}}, "bootstrapServers"),
    "most below least": ({"autoscaling": {"index": {"enabled": True, "maxReplicas": 1, "minReplicas": 2}}}, "more than maxReplicas"),
    "nothing to scale": ({"autoscaling": {"embed": {"enabled": True}}}, "embed.enabled is false"),
    "a model without a folder": ({"model": {"existingClaim": "models"}}, "model.folder"),
    "a volume of ours": ({"query": {"extraVolumes": [{"name": "data", "emptyDir": {}}]}}, "extraVolumes"),
}
"""What must not render, and a word of why."""

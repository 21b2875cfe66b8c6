"""The HorizontalPodAutoscaler's algorithm for one external metric with an average value, and behaviour.

Follows pkg/controller/podautoscaler/horizontal.go and replica_calculator.go of Kubernetes 1.36 (`GetExternalPerPodMetricReplicas`,
`stabilizeRecommendationWithBehaviors`, `convertDesiredReplicasWithBehaviorRate`), `selectPolicy` being Max.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

TOLERANCE = 0.1
SYNC_S = 15


@dataclass(slots=True)
class Autoscaler:
    """One HPA. `behaviour` is what a ScaledObject's `horizontalPodAutoscalerConfig` says.

    Thread: one.
    """

    behaviour: Mapping[str, Any]
    least: int
    most: int
    _recommended: list[tuple[float, int]] = field(default_factory=list)
    _events: list[tuple[float, int]] = field(default_factory=list)

    def replicas(self, now_s: float, current: int, metric: float | None) -> int:
        """Return how many pods there shall be; None: the metric cannot be had, and nothing changes."""
        if metric is None:
            return current
        wanted = current if abs(metric / current - 1.0) <= TOLERANCE else math.ceil(metric)
        wanted = self._limited(now_s, current, self._stabilized(now_s, current, wanted))
        if wanted != current:
            self._events.append((now_s, wanted - current))
        return wanted

    def _stabilized(self, now_s: float, current: int, wanted: int) -> int:
        up_s, down_s = (self.behaviour[way]["stabilizationWindowSeconds"] for way in ("scaleUp", "scaleDown"))
        recent = [(at_s, one) for at_s, one in self._recommended if at_s > now_s - max(up_s, down_s)]
        lowest = min([wanted, *(one for at_s, one in recent if at_s > now_s - up_s)])
        highest = max([wanted, *(one for at_s, one in recent if at_s > now_s - down_s)])
        self._recommended = [*recent, (now_s, wanted)]
        return min(max(current, lowest), highest)

    def _limited(self, now_s: float, current: int, wanted: int) -> int:
        if wanted > current:
            limit = max(self._limits("scaleUp", now_s, current))
            return max(current, min(wanted, limit, self.most))
        if wanted < current:
            limit = min(self._limits("scaleDown", now_s, current))
            return min(current, max(wanted, limit, self.least))
        return max(self.least, min(current, self.most))

    def _limits(self, way: Literal["scaleUp", "scaleDown"], now_s: float, current: int) -> Sequence[int]:
        """Return how far each policy lets it go, from where its period began."""
        limits = []
        for policy in self.behaviour[way]["policies"]:
            began = current - sum(change for at_s, change in self._events if at_s > now_s - policy["periodSeconds"])
            sign = 1 if way == "scaleUp" else -1
            if policy["type"] == "Pods":
                limits.append(began + sign * policy["value"])
            else:
                share = began * (1 + sign * policy["value"] / 100)
                limits.append(math.ceil(share) if sign > 0 else int(share))
        return limits

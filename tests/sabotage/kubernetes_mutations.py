"""Mutations of the Helm chart, the rules that say how many workers are needed, and the simulation that holds against them."""

from tests.sabotage.mutation import Changes

_RULES = "deploy/kubernetes/test_scaling_rules.py"
_DAY = "deploy/autoscale/test_autoscale.py"

KUBERNETES_MUTATIONS: Changes = {
    "deploy/prometheus/rules/scaling.yml: an offset that is set back is taken for a counter that began again": (
        "clamp_min(delta(vectail:partition_committed_offset:max[5m]), 0)) / 300",
        "rate(vectail:partition_committed_offset:max[5m]))",
        f"{_RULES}::restarts_resets_and_topics_that_begin_again_make_no_peak",
    ),
    "deploy/prometheus/rules/scaling.yml: what a record costs is measured in quiet hours, too": (
        "(max by (job, namespace) (vectail:stage_busy:ratio5m) > 0.3)",
        "(max by (job, namespace) (vectail:stage_busy:ratio5m) > 0)",
        f"{_RULES}::a_worker_with_little_to_do_says_nothing_of_what_a_record_costs_under_load",
    ),
    "deploy/prometheus/rules/scaling.yml: an index that refuses writes is one that takes more": (
        "<= bool 0.05 * (",
        "<= bool 5 * (",
        f"{_RULES}::the_index_takes_no_more_when_it_is_away_refuses_or_is_slow",
    ),
    "deploy/prometheus/rules/scaling.yml: one worker that reaches the index is enough": (
        'min by (job, namespace) (vectail_dependency_up{dependency="index"})',
        'max by (job, namespace) (vectail_dependency_up{dependency="index"})',
        f"{_RULES}::the_index_takes_no_more_when_it_is_away_refuses_or_is_slow",
    ),
    "deploy/prometheus/rules/scaling.yml: how many are needed may be infinite": (
        "            0, 1000\n",
        "            0, Inf\n",
        f"{_RULES}::numbers_that_are_none_end_within_bounds",
    ),
    "deploy/prometheus/rules/scaling.yml: the threads of a stage do not count": (
        "            sum by (job, namespace, stage) (rate(vectail_stage_busy_seconds_total[5m]) / vectail_stage_threads)\n",
        "            sum by (job, namespace, stage) (rate(vectail_stage_busy_seconds_total[5m]))\n",
        f"{_RULES}::a_stage_with_more_threads_can_do_more",
    ),
    "deploy/helm/vectail/templates/scaling-index.yaml: pods go as soon as they are not needed": (
        "stabilizationWindowSeconds: 1800\n          policies:\n            - {type: Pods, value: 1, periodSeconds: 600}",
        "stabilizationWindowSeconds: 60\n          policies:\n            - {type: Pods, value: 1, periodSeconds: 60}",
        f"{_DAY}::pods_change_at_most_six_times_an_hour_and_are_never_more_than_partitions",
    ),
    "deploy/helm/vectail/templates/scaling-index.yaml: pods come one by one": (
        "- {type: Percent, value: 900, periodSeconds: 60}",
        "- {type: Pods, value: 1, periodSeconds: 300}",
        f"{_DAY}::a_burst_an_index_and_a_broker_that_were_away_are_caught_up_in_ten_minutes",
    ),
    "deploy/helm/vectail/values.schema.json: the image may be `latest`": (
        '"not": {"const": "latest"}',
        '"not": {"const": "newest"}',
        "deploy/kubernetes/test_values_schema.py::odd_values_are_refused",
    ),
    "worker/service/samples.py: a stage with several writers counts as one thread": (
        '("store", service.settings.index.writers)',
        '("store", 1)',
        "worker/service/test_pages.py::the_threads_of_the_store_stage_are_its_writers",
    ),
}

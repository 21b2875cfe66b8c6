"""The mutations of what deploys and watches a worker: the stack, the image, its supply, rules and dashboards.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Changes

DEPLOY_MUTATIONS: Changes = {
    "deploy/images.py: an image is pinned by a digest that is not its manifest's": (
        "if found != digest:",
        'if not found.startswith("sha256:"):',
        "deploy/test_images.py::a_digest_that_is_not_the_manifest_s_is_not_written",
    ),
    "deploy/supply/sbom.py: a known licence hides an unknown one beside it": (
        'all(word in LICENCES or word in ("AND", "OR") for word in words)',
        "any(word in LICENCES for word in words)",
        "deploy/test_sbom.py::a_licence_is_known_or_unknown",
    ),
    "deploy/Dockerfile: a worker is killed while its index is away": (
        "http://127.0.0.1:8790/healthz",
        "http://127.0.0.1:8790/readyz",
        "test_compose_image.py::the_health_check_asks_the_worker_s_own_port_and_no_proxy",
    ),
    "docker-compose.yml: whoever reaches the machine reaches Prometheus": (
        '"127.0.0.1:9090:9090"',
        '"9090:9090"',
        "test_compose.py::published_ports_are_on_loopback",
    ),
    "docker-compose.yml: dead letters are gone after Kafka's usual week": (
        "--config retention.ms=-1 --config cleanup.policy=delete",
        "--config cleanup.policy=delete",
        "test_compose.py::the_topics_that_are_made_are_those_that_the_worker_uses",
    ),
    "deploy/vllm/install.sh: vLLM is installed whatever its files hold": (
        "pip install --no-deps --require-hashes --only-binary",
        "pip install --no-deps --only-binary",
        "test_vllm_install.py::with_a_gpu_its_build_is_installed_with_every_hash_checked",
    ),
    "deploy/prometheus/rules/vectail.yml: while every worker hangs no alert says that none answers": (
        'absent(up{job="vectail"} == 1)',
        'absent(up{job="vectail"})',
        "deploy/test_rules.py::the_rules_do_what_their_tests_say",
    ),
    "deploy/prometheus/prometheus.yml: workers are scraped at a port on which they do not listen": (
        "port: 8790",
        "port: 8970",
        "test_compose_monitoring.py::what_is_scraped_is_a_service_that_listens_there",
    ),
    "deploy/grafana/dashboards/consumer-lag.json: whoever chooses kafka_exporter sees kminion's count of members": (
        'kminion_kafka_consumer_group_members{group_id=~\\"$group\\"}) and on () (vector($source) == 3)',
        'kminion_kafka_consumer_group_members{group_id=~\\"$group\\"}) and on () (vector($source) == 2)',
        "deploy/test_dashboards.py::the_source_of_the_lag_can_be_chosen",
    ),
}

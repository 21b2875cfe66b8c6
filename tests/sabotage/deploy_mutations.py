"""The mutations of what deploys and watches a worker: the stack, the image, its supply, rules and dashboards.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Mutation

_COMPOSE = "docker-compose.yml"
_TEST_COMPOSE = "tests/test_compose.py"

DEPLOY_MUTATIONS = (
    Mutation(
        "an image is pinned by a digest that is not its manifest's",
        "deploy/images.py",
        "if found != digest:",
        'if not found.startswith("sha256:"):',
        ("tests/deploy/test_images.py::test_a_digest_that_is_not_the_manifest_s_is_not_written",),
    ),
    Mutation(
        "a known licence hides an unknown one beside it",
        "deploy/supply/sbom.py",
        'all(word in LICENCES or word in ("AND", "OR") for word in words)',
        "any(word in LICENCES for word in words)",
        ("tests/deploy/test_sbom.py::test_a_licence_is_known_or_unknown",),
    ),
    Mutation(
        "a worker is killed while its index is away",
        "deploy/Dockerfile",
        "http://127.0.0.1:8790/healthz",
        "http://127.0.0.1:8790/readyz",
        ("tests/test_compose_image.py::test_the_health_check_asks_the_worker_s_own_port_and_no_proxy",),
    ),
    Mutation(
        "whoever reaches the machine reaches Prometheus",
        _COMPOSE,
        '"127.0.0.1:9090:9090"',
        '"9090:9090"',
        (f"{_TEST_COMPOSE}::test_published_ports_are_on_loopback",),
    ),
    Mutation(
        "dead letters are gone after Kafka's usual week",
        _COMPOSE,
        "--config retention.ms=-1 --config cleanup.policy=delete",
        "--config cleanup.policy=delete",
        (f"{_TEST_COMPOSE}::test_the_topics_that_are_made_are_those_that_the_worker_uses",),
    ),
    Mutation(
        "vLLM is installed whatever its files hold",
        "deploy/vllm/install.sh",
        "pip install --no-deps --require-hashes --only-binary",
        "pip install --no-deps --only-binary",
        ("tests/test_vllm_install.py::test_with_a_gpu_its_build_is_installed_with_every_hash_checked",),
    ),
    Mutation(
        "while every worker hangs no alert says that none answers",
        "deploy/prometheus/rules/vectail.yml",
        'absent(up{job="vectail"} == 1)',
        'absent(up{job="vectail"})',
        ("tests/deploy/test_rules.py::test_the_rules_do_what_their_tests_say",),
    ),
    Mutation(
        "workers are scraped at a port on which they do not listen",
        "deploy/prometheus/prometheus.yml",
        "port: 8790",
        "port: 8970",
        ("tests/test_compose_monitoring.py::test_what_is_scraped_is_a_service_that_listens_there",),
    ),
    Mutation(
        "whoever chooses kafka_exporter sees kminion's count of members",
        "deploy/grafana/dashboards/consumer-lag.json",
        'kminion_kafka_consumer_group_members{group_id=~\\"$group\\"}) and on () (vector($source) == 3)',
        'kminion_kafka_consumer_group_members{group_id=~\\"$group\\"}) and on () (vector($source) == 2)',
        ("tests/deploy/test_dashboards.py::test_the_source_of_the_lag_can_be_chosen",),
    ),
)

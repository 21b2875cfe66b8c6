"""Redis behind sentinels, as a cluster and behind TLS; all real processes."""

import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import redis

from tests.services.ports import free_port
from tests.services.redis import LocalRedis, local_redis, run_cli
from tests.worker.embedding.cache.rig import Rig
from tests.worker.running import wait_until

pytestmark = pytest.mark.process

SLOTS = 16384


def test_sentinels_lead_to_the_master_and_to_the_next_one(tmp_path: Path) -> None:
    port = free_port()
    settings = tmp_path / "sentinel.conf"
    with local_redis() as first, local_redis() as second:
        second.admin().execute_command("REPLICAOF", "127.0.0.1", str(first.port))
        settings.write_text(
            f"port {port}\nbind 127.0.0.1\nsentinel monitor cache 127.0.0.1 {first.port} 1\n"
            "sentinel down-after-milliseconds cache 300\nsentinel failover-timeout cache 3000\n"
        )
        wait_until(lambda: second.admin().info("replication")["master_link_status"] == "up", "the replica")
        sentinels = f"127.0.0.1:{free_port()},127.0.0.1:{port}"  # the first is down
        with (
            local_redis(str(settings), "--sentinel", sentinel=True, port=port),
            Rig(f"redis+sentinel://{sentinels}/cache") as rig,
        ):
            wait_until(lambda: "status=ok" in (told := run_cli(port, "info", "sentinel")) and "slaves=1" in told, "the sentinel")

            def is_stored() -> bool:
                rig.time_passes()  # on a busy machine a sentinel that has just started may think that its master is down
                rig.put(range(5))
                return rig.found(range(9)) == set(range(5))

            wait_until(is_stored, "the master")
            assert first.admin().dbsize() == 5
            wait_until(lambda: second.admin().dbsize() == 5, "the replica's copy")
            first.kill()

            def is_promoted() -> bool:
                try:
                    return bool(second.admin().info("replication")["role"] == "master")
                except redis.ConnectionError:  # a sentinel cuts all connections when it promotes
                    return False

            wait_until(is_promoted, "the next master")

            def is_back() -> bool:
                rig.time_passes()
                return rig.found(range(5)) == set(range(5))

            wait_until(is_back, "the cache")

            def is_written() -> bool:
                rig.time_passes()
                rig.put([7])
                return bool(second.admin().dbsize() == 6)

            wait_until(is_written, "a write")


@pytest.fixture
def cluster() -> Iterator[tuple[LocalRedis, LocalRedis]]:
    """Two nodes, each with half of the slots."""
    # The default cluster port is 10,000 above, in the range of ephemeral ports.
    mine, others = ((*("--cluster-enabled", "yes", "--cluster-port"), str(free_port())) for _ in range(2))
    with local_redis(*mine) as one, local_redis(*others) as other:
        run_cli(one.port, "cluster", "addslotsrange", "0", str(SLOTS // 2 - 1))
        run_cli(other.port, "cluster", "addslotsrange", str(SLOTS // 2), str(SLOTS - 1))
        run_cli(one.port, "cluster", "meet", "127.0.0.1", str(other.port), others[-1])
        for port in (one.port, other.port):
            wait_until(partial(_is_whole, port), "the cluster")
        yield one, other


def _is_whole(port: int) -> bool:
    return "cluster_state:ok" in run_cli(port, "cluster", "info")


def test_a_cluster_shares_the_keys_out(cluster: tuple[LocalRedis, LocalRedis]) -> None:
    one, other = cluster
    with Rig(f"redis+cluster://127.0.0.1:{one.port}") as rig:
        rig.put(range(300))
        assert rig.found(range(310)) == set(range(300))
        assert rig.tally.written == 300
        shares = [node.admin().dbsize() for node in cluster]
        assert sum(shares) == 300
        assert min(shares) > 100
        other.kill()
        for _ in range(5):
            rig.found(range(310))
        assert rig.said_like("is away")


def test_tls_with_certificates_on_both_sides(tmp_path: Path) -> None:
    ca, key = certificate(tmp_path)
    port = free_port()
    tls = ["--port", "0", "--tls-port", str(port), "--tls-cert-file", ca, "--tls-key-file", key, "--tls-ca-cert-file", ca]
    with local_redis(*tls, port=port):
        with Rig(f"rediss://127.0.0.1:{port}", ca_file=ca, cert_file=ca, key_file=key) as rig:
            rig.put(range(5))
            assert rig.found(range(9)) == set(range(5))
        with Rig(f"rediss://127.0.0.1:{port}", cert_file=ca, key_file=key) as rig:  # no CA vouches for the server
            for _ in range(5):
                assert rig.found([1]) == set()
            assert rig.said_like("is away", "certificate verify failed")
        with Rig(f"rediss://localhost:{port}", ca_file=ca, cert_file=ca, key_file=key) as rig:  # its certificate is for another name
            for _ in range(5):
                assert rig.found([1]) == set()
            assert rig.said_like("is away", "Hostname mismatch")


def certificate(folder: Path) -> tuple[str, str]:
    """Make a self-signed certificate for 127.0.0.1; returns it and its key."""
    ca, key = str(folder / "ca.pem"), str(folder / "ca.key")
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    subprocess.run(
        [*make, "-subj", "/CN=cache", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", ca], check=True, capture_output=True
    )
    return ca, key

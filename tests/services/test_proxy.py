"""The proxy: faults apply to open and to new connections, and end with `release`."""

import socket
import socketserver
import threading
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.services.mock_kafka import MockKafka
from tests.services.proxy import CHUNK_BYTES, Proxy, kafka_proxy

WAIT_S = 10.0
LARGE = bytes(range(256)) * 4_096


class _Echo(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        while chunk := self.request.recv(65_536):
            self.request.sendall(chunk)


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Ignore the reset connections that these tests cause."""


@pytest.fixture(scope="module")
def server() -> Iterator[int]:
    with _Server(("127.0.0.1", 0), _Echo) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield int(server.server_address[1])
        server.shutdown()
        thread.join()


@pytest.fixture
def proxy(server: int) -> Iterator[Proxy]:
    with Proxy(server) as proxy:
        yield proxy


@pytest.fixture
def client(proxy: Proxy) -> Iterator[socket.socket]:
    with connect(proxy) as client:
        yield client


def connect(proxy: Proxy) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", proxy.port))
    client.settimeout(WAIT_S)
    return client


def read(client: socket.socket, most_bytes: int) -> bytes:
    """Read this many bytes, or fewer if the connection ends first."""
    read = b""
    while len(read) < most_bytes and (chunk := client.recv(most_bytes - len(read))):
        read += chunk
    return read


def echoed(client: socket.socket, sent: bytes) -> bytes:
    """Send, and read the answer; a second thread sends, otherwise both sides would block on full buffers."""
    sender = threading.Thread(target=client.sendall, args=(sent,))
    sender.start()
    answer = read(client, len(sent))
    sender.join()
    return answer


def comes_nothing(client: socket.socket) -> bool:
    """Return whether nothing arrives; forwarding over loopback takes far less time than this waits."""
    client.settimeout(0.05)
    try:
        client.recv(1)
    except TimeoutError:
        return True
    finally:
        client.settimeout(WAIT_S)
    return False


def is_well(proxy: Proxy) -> bool:
    with connect(proxy) as client:
        return echoed(client, LARGE) == LARGE


def test_everything_passes_unchanged_and_is_counted(proxy: Proxy) -> None:
    with connect(proxy) as one, connect(proxy) as other:
        assert echoed(one, LARGE) == LARGE
        assert echoed(other, b"short") == b"short"
    assert proxy.accepted == 2
    assert proxy.passed_bytes == {"questions": len(LARGE) + 5, "answers": len(LARGE) + 5}


def test_a_delay_holds_for_each_way_that_is_named(proxy: Proxy, client: socket.socket) -> None:
    for ways, least_s in ((("answers",), 0.15), ((), 0.35)):
        proxy.delay(0.2, *ways)
        begun_s = time.monotonic()
        assert echoed(client, b"x") == b"x"
        assert time.monotonic() - begun_s > least_s


def test_a_share_of_bytes_has_one_bit_turned_and_the_seed_says_which(proxy: Proxy) -> None:
    received = []
    for seed in (1, 1, 2):
        with connect(proxy) as client:
            assert echoed(client, b"x") == b"x"
            proxy.flip(0.01, seed=seed)
            received.append(echoed(client, LARGE[:10_000]))
            proxy.release()
    assert received[0] == received[1] != received[2]
    turned = [(one ^ other).bit_count() for one, other in zip(received[0], LARGE, strict=False) if one != other]
    assert set(turned) == {1}
    assert 50 < len(turned) < 200
    assert is_well(proxy)


def test_a_marker_is_spoiled_so_many_times_and_nothing_else(proxy: Proxy, client: socket.socket) -> None:
    proxy.spoil(b"mark", times=2)
    answers = [echoed(client, b"a mark b") for _ in range(3)]
    assert answers == [b"a lark b", b"a lark b", b"a mark b"]
    assert proxy.spoiled == 2
    proxy.spoil(b"mark", "questions")
    assert echoed(client, b"mark mark") == b"lark mark"


def test_closing_ends_what_is_held_and_the_thread_and_may_be_done_twice(server: int) -> None:
    before = threading.active_count()
    proxy = Proxy(server)
    with connect(proxy) as client:
        proxy.silence()
        client.sendall(b"x")
        assert proxy.held.wait(WAIT_S)
        proxy.close()
        proxy.close()
        assert client.recv(1) == b""
    deadline_s = time.monotonic() + WAIT_S
    while threading.active_count() > before:  # the server's own thread for this connection ends by itself
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


def test_a_name_is_replaced_even_where_it_comes_in_two_pieces(server: int) -> None:
    sent = b"?" + b"a" * (CHUNK_BYTES - 3) + b"broker:1 and broker:1, not bro"
    with Proxy(server, rename=(b"broker:1", b"proxy:22")) as proxy, connect(proxy) as client:
        proxy.hold()
        client.sendall(sent[:1])
        assert proxy.held.wait(WAIT_S)
        client.sendall(sent[1:])
        assert comes_nothing(client)  # by now the proxy has received the whole answer, chunk by chunk
        proxy.release()
        assert read(client, len(sent)) == sent.replace(b"broker:1", b"proxy:22")


def test_clients_that_begin_at_the_proxy_of_a_broker_stay_there(mock_kafka: MockKafka) -> None:
    with kafka_proxy(mock_kafka.bootstrap) as proxy:
        bootstrap = f"127.0.0.1:{proxy.port}"
        producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
        assert [broker.port for broker in producer.list_topics(timeout=WAIT_S).brokers.values()] == [proxy.port]
        producer.produce("logs", b"through", partition=0)
        assert producer.flush(WAIT_S) == 0
        proxy.refuse()
        producer.produce("logs", b"held up", partition=0)
        assert producer.flush(0.2) == 1
        proxy.release()
        assert producer.flush(WAIT_S) == 0

        reader = Consumer({"bootstrap.servers": bootstrap, "group.id": "any", "log_level": 0})
        reader.assign([TopicPartition("logs", 0, 0)])
        values: list[object] = []
        while len(values) < 2:
            message = reader.poll(WAIT_S)
            assert message is not None
            values += [] if message.error() else [message.value()]
        reader.close()
        assert values == [b"through", b"held up"]

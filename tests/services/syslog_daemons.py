"""rsyslog and syslog-ng as Debian builds them, unpacked into the project's `.cache/`: both cannot be installed on one machine.

Nothing is installed, and no service starts. Without apt and Debian's packages it raises ServerMissing.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from tests.services.fetched import fetched
from tests.services.missing import ServerMissing
from tests.services.ports import free_port, listens

_PACKAGES = {
    "rsyslog": ("rsyslog", "rsyslog-kafka", "libestr0", "libfastjson4", "liblognorm5", "librdkafka1"),
    "syslog-ng": ("syslog-ng-core", "syslog-ng-mod-rdkafka", "libivykis0", "libnet1", "libpcre3", "libwrap0", "librdkafka1"),
}
_FETCH_S = 120.0
_START_S = 20.0
_STOP_S = 10.0
_AGAIN_S = 0.05


def rsyslog_settings(port: int, bootstrap: str, templates: dict[str, str]) -> str:
    """Return settings that write what comes to a port into topics, each with a template of rsyslog's own."""
    actions = [
        f'action(type="omkafka" broker=["{bootstrap}"] topic="{topic}" template="{template}" partitions.auto="on")'
        for topic, template in templates.items()
    ]
    return "\n".join(
        [
            'module(load="imptcp")',
            'module(load="omkafka")',
            f'input(type="imptcp" address="127.0.0.1" port="{port}")',
            *actions,
        ]
    )


def syslog_ng_settings(port: int, bootstrap: str, templates: dict[str, str]) -> str:
    """Return settings that write what comes to a port into topics, each with a template; an empty one is the default."""
    destinations = [
        f'destination {{ kafka-c(bootstrap-servers("{bootstrap}") topic("{topic}")'
        + (f" message({_quoted(template)})" if template else "")
        + "); };"
        for topic, template in templates.items()
    ]
    source = f'source {{ network(ip("127.0.0.1") transport("tcp") port({port}) flags(syslog-protocol)); }};'
    return "\n".join(["@version: 3.35", "options { keep-hostname(yes); frac-digits(3); };", "log {", source, *destinations, "};"])


def _quoted(template: str) -> str:
    return "'" + template + "'"


@contextmanager
def syslog_daemon(name: str, settings_of: Callable[[int], str]) -> Iterator[int]:
    """Run a daemon in the foreground and return the port of 127.0.0.1 where it takes lines; at the end it has written all of them."""
    root = _unpacked(name)
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="vectail-syslog-") as made:
        folder = Path(made)
        settings = folder / "settings.conf"
        settings.write_text(settings_of(port) + "\n")
        log = folder / "log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                _command(name, root, folder, settings), env=_environment(root), cwd=folder, stdout=output, stderr=subprocess.STDOUT
            )
        try:
            until_s = time.monotonic() + _START_S
            while not listens(port):
                if process.poll() is not None or time.monotonic() > until_s:
                    raise RuntimeError(f"{name} does not listen:\n{log.read_text(errors='replace')[-2000:]}")
                time.sleep(_AGAIN_S)
            yield port
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(_STOP_S)


def send_lines(port: int, lines: Sequence[str]) -> None:
    """Send lines over TCP, each ended by a line feed."""
    with closing(socket.create_connection(("127.0.0.1", port), timeout=_START_S)) as connection:
        connection.sendall("".join(f"{line}\n" for line in lines).encode())


def _command(name: str, root: Path, folder: Path, settings: Path) -> list[str]:
    if name == "rsyslog":
        modules = next(root.glob("usr/lib/*/rsyslog"))
        return [f"{root}/usr/sbin/rsyslogd", "-n", "-f", str(settings), "-i", f"{folder}/pid", f"-M{modules}"]
    modules = next(root.glob("usr/lib/syslog-ng/*/libkafka.so")).parent
    state = ["--persist-file", f"{folder}/persist", "--pidfile", f"{folder}/pid", "--control", f"{folder}/control"]
    return [f"{root}/usr/sbin/syslog-ng", "-F", "-e", "--no-caps", "-f", str(settings), f"--module-path={modules}", *state]


def _environment(root: Path) -> dict[str, str]:
    folders = [str(path) for pattern in ("usr/lib/*-linux-gnu", "lib/*-linux-gnu", "usr/lib/syslog-ng") for path in root.glob(pattern)]
    return os.environ | {"LD_LIBRARY_PATH": ":".join(folders), "TZ": "UTC"}


def _unpacked(name: str) -> Path:
    """Return the folder with a daemon's packages; fetch them once."""
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        raise ServerMissing(f"{name} needs apt-get and dpkg")

    def fetch(root: Path) -> None:
        with tempfile.TemporaryDirectory() as made:
            if (fault := _fetch_fault(_PACKAGES[name], Path(made))) is not None:
                raise ServerMissing(f"Debian's packages of {name} cannot be fetched: {fault}")
            root.mkdir()
            for package in sorted(Path(made).glob("*.deb")):
                subprocess.run(["dpkg", "-x", str(package), str(root)], check=True)

    return fetched(f"{name}-debian", fetch)


def _fetch_fault(packages: Sequence[str], folder: Path) -> str | None:
    """Fetch packages into a folder, with lists of apt's of our own where the machine has none; return why it failed, if it did."""
    (folder / "lists" / "partial").mkdir(parents=True)
    own_lists = ("-o", f"Dir::State::Lists={folder}/lists", "-o", f"Dir::Cache={folder}/cache")
    fault = ""
    for options, words in (((), ("download", *packages)), (own_lists, ("update",)), (own_lists, ("download", *packages))):
        command = ["apt-get", "-qq", "-o", "APT::Sandbox::User=root", *options, *words]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_FETCH_S, check=False)
        if done.returncode == 0 and words[0] == "download":
            return None
        fault = done.stderr.strip()[-300:]
    return fault

"""A folder of rotated files: the oldest lines come first, whatever wrote it."""

import gzip
from pathlib import Path

import pytest

from producers.file_lines import FileUnreadable, find_files, read_files
from producers.rotated_files import order_of

ORDERS = {
    "logrotate": ["app.log.10.gz", "app.log.2.gz", "app.log.1", "app.log"],
    "logrotate, dateext": ["app.log-20261121.gz", "app.log-20261122", "app.log"],
    "logrotate, hours": ["app.log-2026112109.gz", "app.log-2026112110", "app.log"],
    "Python's TimedRotatingFileHandler": ["app.log.2026-11-21", "app.log.2026-11-22", "app.log"],
    "Python's, hours": ["app.log.2026-11-21_09", "app.log.2026-11-21_10", "app.log"],
    "logback, fixed window": ["app.3.log.zst", "app.2.log", "app.1.log", "app.log"],
    "logback, size and time": ["app-2026-11-21.0.log.gz", "app-2026-11-21.1.log.gz", "app-2026-11-21.10.log.gz", "app-2026-11-22.0.log"],
    "log4j2": ["app-1.log.gz", "app-2.log.gz", "app-10.log.gz", "app.log"],
    "Serilog": ["shop20261121.txt", "shop20261121_001.txt", "shop20261122.txt"],
    "kubelet": ["0.log.20261121-101500.gz", "0.log.20261122-091500", "0.log"],
    "lumberjack": ["app-2026-11-21T18-30-00.000.log.gz", "app-2026-11-22T01-30-00.000.log", "app.log"],
    "svlogd's and others' seconds": ["app.log.1795341600", "app.log.1795345200", "app.log"],
    "a copy": ["dmesg.old", "dmesg"],
    "two families": ["access.log.1", "access.log", "app.log.1", "app.log"],
    "hosts are no numbers": ["web1.log", "web2.log"],
}


@pytest.mark.parametrize("names", ORDERS.values(), ids=ORDERS.keys())
def test_the_oldest_comes_first(names: list[str]) -> None:
    assert order_of(sorted(names)) == names
    assert order_of(names[::-1]) == names


def test_a_folder_is_read_as_one_file_oldest_first_and_what_holds_no_lines_is_said(tmp_path: Path) -> None:
    (tmp_path / "app.log.2.gz").write_bytes(gzip.compress(b"1\n2\n"))
    (tmp_path / "app.log.1").write_bytes(b"3\n")
    (tmp_path / "app.log").write_bytes(b"4\n")
    (tmp_path / ".app.log.swp").write_bytes(b"5\n")
    (tmp_path / "wtmp").write_bytes(b"\x02\0\0\0~\0\0\0")
    (tmp_path / "old.zip").write_bytes(b"PK\x03\x04")
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive" / "more.log").write_bytes(b"6\n")
    said: list[str] = []
    assert list(read_files([str(tmp_path), "/dev/null"], say=said.append)) == [b"1", b"2", b"3", b"4"]
    assert said == [f"{tmp_path}/old.zip: left out, is a zip archive of files: unpack it first", f"{tmp_path}/wtmp: left out, it is binary"]


def test_a_folder_without_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "archive").mkdir()
    with pytest.raises(FileUnreadable, match="holds no files of lines"):
        find_files([str(tmp_path)])

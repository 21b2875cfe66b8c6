"""With the masks of version 2 alone, lines are masked as version 2 masked them: benchmarks compare with it.

The masked texts were made by version 2 and do not change.
"""

import pytest

from consumers.text.mask import MASKS, Masker
from consumers.text.mask_patterns import VERSION_2_MASKS

BY_VERSION_2 = (
    (
        "2026-01-12T03:04:05.678Z web-7f9c6d5b8-x2x9z accepted 10.0.0.7:52114 in 12ms",
        "web accepted in",
    ),
    (
        "Jan 12 03:04:05 gw sshd[4711]: Failed password for invalid user carol from 192.0.2.14 port 40022 ssh2",
        "sshd[]: Failed password for invalid user carol from port ssh",
    ),
    (
        "<165>1 2026-01-12T03:04:05.678Z gw.example.com billing 4711 ID47 - invoice [17] printed",
        "<> billing ID - invoice [] printed",
    ),
    (
        '192.0.2.14 - - [12/Jan/2026:03:04:05 +0000] "GET /shop/items/42?size=xl&page=3 HTTP/1.1" 503 1734 "-" "curl/8.5.0"',
        '- - [] "GET /shop/items/?size=&page= HTTP/" 503 "-" "curl/"',
    ),
    (
        "E0112 03:04:05.678901    4711 reflector.go:138] watch of *v1.Pod ended: status=410",
        "E reflector.go:] watch of *v.Pod ended: status=410",
    ),
    (
        "attempt_1768187045000_0007_m_000003_1 done after 5 secs",
        "attempt_m done after secs",
    ),
    (
        "disk instance-550e8400-abcd-41d4-a716-446655440000_swap detached",
        "disk instance-abcd_swap detached",
    ),
    (
        "mail to carol+lists@mail.example.org bounced: code=550",
        "mail to bounced: code=550",
    ),
    (
        "fe80::1ff:fe23:4567:890a and 2001:db8::a1 are down",
        "and are down",
    ),
    (
        "R20-M0-NE-C:J05-U01 temperature 71.5 above 70",
        "temperature above",
    ),
    (
        "ORA-00942 at /opt/app/run/query.sql:17 user=carol rows=0",
        "ORA-00942 at /opt/app/run/query.sql: user=carol rows=",
    ),
    (
        "session opened for user carol by (uid=0)",
        "session opened for user carol by (uid=)",
    ),
    (
        '(1) [2, 3] {} "" <4> done done done',
        '() [, ] {} "" <> done done done',
    ),
    (
        "connect to db.prod.example.com:5432 failed: errno 111",
        "connect to db.prod.example.com: failed: errno 111",
    ),
    (
        'open "/var/lib/app/data.db" failed 3 times in 1h20m3s',
        'open "/var/lib/app/data.db" failed times in',
    ),
    (
        '{"user_id":7,"level":"error","took":12}',
        '{"user_id":,"level":"error","took":}',
    ),
    (
        "key 0xdeadBEEF a94a8fe5ccb19ba61c4c0873d391e987982fbbd3 CS0246",
        "key CS0246",
    ),
    (
        "10.0.0.7 03:04:05",
        "0",
    ),
)
VERSION_2 = Masker(disabled=[mask.name for mask in MASKS if mask.name not in VERSION_2_MASKS])


def test_the_first_masks_alone_mask_as_version_2(subtests: pytest.Subtests) -> None:
    lines = [line for line, _ in BY_VERSION_2]
    for (line, masked), now in zip(BY_VERSION_2, VERSION_2.mask(lines), strict=True):
        with subtests.test(line):
            assert now == masked
            assert VERSION_2.mask([masked]) == [masked]

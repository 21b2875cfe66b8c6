"""Queries over a real Kafka while a worker indexes: answered before the logs are done, each with its own result."""

import json
import re
import time

from tests.faults.scene import Scene

QUERIES = 20


def test_queries_are_answered_while_the_worker_indexes(scene: Scene) -> None:
    topics = scene.topics
    topics.send(1_500)
    worker = scene.start(limits__max_in_flight_records="100")
    scene.wait_progress(worker)
    asked = [topics.ask(b'{"text": "socket refused voucher %d", "k": 5}' % number) for number in range(QUERIES)]
    answers = topics.replies_to(asked)
    assert topics.committed() != topics.ends(), "everything was indexed before the queries were answered"

    by_place = {(sent.partition, sent.offset): sent for sent in topics.sent}
    for correlation_id in asked:
        hits = answers[correlation_id]["hits"]
        assert hits
        scores = [hit["score"] for hit in hits]
        assert scores == sorted(scores, reverse=True)
        for hit in hits:
            sent = by_place[hit["partition"], hit["offset"]]
            entry = next(entry for entry in sent.content.entries if entry.sub == hit["sub"])
            assert hit["text"] in entry.text
            assert (hit["topic"], hit["time"], hit["service"], hit["level"]) == (topics.logs, sent.time_ms, entry.service, entry.level)

    scene.wait_all_committed(worker)
    text = next(sent.content.entries[0].text for sent in topics.sent if sent.content.entries)
    asked_last = topics.ask(json.dumps({"text": text, "k": 1, "mode": "dense"}).encode())
    [hit] = topics.replies_to([asked_last])[asked_last]["hits"]
    assert hit["score"] > 0.999
    assert re.sub(r"\d+", "#", hit["text"]) == re.sub(r"\d+", "#", text)
    scene.drain(worker)
    scene.judge_end()


def test_expired_bad_and_misdirected_queries_are_told_apart(scene: Scene) -> None:
    topics = scene.topics
    topics.send(200)
    worker = scene.start()
    scene.wait_all_committed(worker)
    expired = topics.ask(b'{"text": "socket", "deadline_ms": 500}', sent_ms=int(time.time() * 1000) - 60_000)
    no_number = topics.ask(b'{"text": "socket", "k": 0}')
    no_field = topics.ask(b'{"text": "socket", "colour": "red"}')
    no_json = topics.ask(b"socket")
    nothing = topics.ask(b"")
    misdirected = topics.ask(b'{"text": "socket"}', reply_topic=topics.dead_letters)
    good = topics.ask(b'{"text": "socket refused voucher", "filters": {"topic": ["nowhere"]}}')
    answers = topics.replies_to([expired, no_number, no_field, no_json, nothing, good])
    told = {name: (answers[name]["error"]["code"], answers[name]["error"]["field"]) for name in (expired, no_number, no_field)}
    assert told == {expired: ("expired", "deadline_ms"), no_number: ("bad_query", "k"), no_field: ("bad_query", "colour")}
    assert answers[no_json]["error"]["code"] == answers[nothing]["error"]["code"] == "bad_query"
    assert answers[good]["hits"] == []
    assert misdirected not in answers
    undecodable = sum(sent.content.fate == "dead_letter" for sent in topics.sent)
    assert len(topics.letters()) == undecodable, "a reply went to a topic that its query may not choose"
    scene.drain(worker)

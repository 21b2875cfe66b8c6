"""Signing in: the token is sent once, the cookie stands for it, and what writes needs more than the cookie."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.worker.serving.conftest import Serve
from tests.worker.serving.serving import PATH, HttpResponse, Serving, receive
from worker.serving.responses import HttpError
from worker.serving.sign_in import FAILED_EACH_S, MOST_FAILED, SESSION_S, SignIn, cookie_of, set_cookie

TOKEN = "s3cr3t-Tok_en"  # noqa: S105 - the tests' own
NOW_S = 1_700_000_000.0
REPLAY = "/api/dead-letters/replay"


def sign_in(serving: Serving, token: object = TOKEN, **headers: str) -> HttpResponse:
    return receive(serving.send(json.dumps({"token": token}), path="/api/session", **headers))


def cookie(answer: HttpResponse) -> str:
    """Return what a browser sends back."""
    return answer.headers["Set-Cookie"].partition(";")[0]


def session(serving: Serving, **headers: str) -> dict[str, Any]:
    answer = serving.get("/api/session", **headers)
    assert answer.status == 200
    document: dict[str, Any] = json.loads(answer.value)
    return document


def replayed(given: Mapping[str, Any]) -> dict[str, Any]:
    return {"replayed": len(given["ids"])}


def test_the_cookie_stands_for_the_token_until_it_is_given_back(serve: Serve) -> None:
    serving = serve(token=TOKEN)
    assert session(serving) == {"needs_token": True, "signed_in": False, "csrf": "", "worker": "", "version": ""}
    assert serving.refused().status == 401
    answer = sign_in(serving)
    assert answer.status == 200
    given = answer.headers["Set-Cookie"]
    assert given.partition("; ")[2] == f"Max-Age={SESSION_S}; Path=/; HttpOnly; SameSite=Strict"
    assert TOKEN not in given
    client = serving.send(Cookie=f"theme=dark; {cookie(answer)}; x")
    serving.answer()
    assert receive(client).status == 200
    document = session(serving, Cookie=cookie(answer))
    assert (document["signed_in"], document["worker"]) == (True, "test:1")
    ended = receive(serving.send(None, method="DELETE", path="/api/session", Cookie=cookie(answer), X_Vectail_CSRF=document["csrf"]))
    assert (ended.status, ended.headers["Set-Cookie"].startswith("vectail_session=; Max-Age=0;")) == (200, True)


def test_a_wrong_token_gets_no_cookie(serve: Serve) -> None:
    serving = serve(token=TOKEN)
    for wrong in ("", "wrong", None, 7, [TOKEN], "\ud800", TOKEN + " "):
        answer = sign_in(serving, wrong)
        assert (answer.status, answer.headers["Set-Cookie"], answer.error["field"]) == (401, None, "token")
    assert serving.said == []


def test_without_a_token_everybody_is_signed_in(serve: Serve) -> None:
    document = session(serve())
    assert (document["needs_token"], document["signed_in"], document["csrf"], document["worker"]) == (False, True, "", "test:1")
    SignIn("").check({"authorization": "Bearer anything"}, writes=True)


def test_what_writes_needs_with_a_cookie_what_only_the_page_can_read(serve: Serve) -> None:
    serving = serve(token=TOKEN, actions={REPLAY: replayed})
    signed_in = cookie(sign_in(serving))
    csrf = session(serving, Cookie=signed_in)["csrf"]

    def replay(**headers: str) -> int:
        return receive(serving.send(b'{"ids": ["0/1"]}', path=REPLAY, **headers)).status

    assert replay(Cookie=signed_in) == 403
    assert replay(Cookie=signed_in, X_Vectail_CSRF=csrf[:-1]) == 403
    assert replay(X_Vectail_CSRF=csrf) == 401
    assert replay(Cookie=signed_in, X_Vectail_CSRF=csrf, Sec_Fetch_Site="same-site") == 403
    assert replay(Cookie=signed_in, X_Vectail_CSRF=csrf, Origin="http://evil.example") == 403
    assert replay(Cookie=signed_in, X_Vectail_CSRF=csrf) == 200
    assert replay(Authorization=f"Bearer {TOKEN}") == 200
    refused = receive(serving.send(None, method="DELETE", path="/api/session", Cookie=signed_in))
    assert (refused.status, refused.error["field"]) == (403, "X-Vectail-CSRF")


def test_a_cookie_holds_on_every_worker_with_that_token_and_on_no_other() -> None:
    made = SignIn(TOKEN, wall_s=lambda: NOW_S).new_cookie(TOKEN, "10.0.0.1")
    assert SignIn(TOKEN, wall_s=lambda: NOW_S + SESSION_S - 1).is_signed_in({"cookie": f"vectail_session={made}"})
    assert not SignIn(TOKEN, wall_s=lambda: NOW_S + SESSION_S).is_signed_in({"cookie": f"vectail_session={made}"})
    assert not SignIn(TOKEN + "2", wall_s=lambda: NOW_S).is_signed_in({"cookie": f"vectail_session={made}"})


@pytest.mark.parametrize("change", ["expiry", "signature", "csrf", "empty", "no-number", "not-ascii"])
def test_a_cookie_that_was_changed_is_none(change: str) -> None:
    signing = SignIn(TOKEN, wall_s=lambda: NOW_S)
    made = signing.new_cookie(TOKEN, "10.0.0.1")
    expiry, _, signature = made.partition(".")
    changed = {
        "expiry": f"{int(expiry) + 1}.{signature}",
        "signature": f"{expiry}.{'0' * len(signature)}",
        "csrf": f"{expiry}.{signing.csrf_of(made)}",
        "empty": "",
        "no-number": f"x.{signature}",
        "not-ascii": f"{expiry}.\xe9{signature}",
    }[change]
    with pytest.raises(HttpError) as refused:
        signing.check({"cookie": f"vectail_session={changed}"})
    assert refused.value.status == 401
    assert signing.csrf_of(changed) == ""
    with pytest.raises(HttpError):
        signing.check({"cookie": f"vectail_session={made}", "authorization": "Bearer wrong"})


def test_one_address_may_try_so_often_and_keeps_no_other_out() -> None:
    now_s = 100.0
    signing = SignIn(TOKEN, wall_s=lambda: NOW_S, clock=lambda: now_s)

    def tried(address: str, token: str = "wrong") -> int:  # noqa: S107 - is wrong
        with pytest.raises(HttpError) as refused:
            signing.new_cookie(token, address)
        return refused.value.status

    assert [tried("10.0.0.1") for _ in range(MOST_FAILED)] == [401] * MOST_FAILED
    assert [tried("10.0.0.1"), tried("10.0.0.1", TOKEN)] == [429, 429]
    assert signing.new_cookie(TOKEN, "10.0.0.2")
    now_s += FAILED_EACH_S
    assert [tried("10.0.0.1"), tried("10.0.0.1")] == [401, 429]
    now_s += FAILED_EACH_S
    assert signing.new_cookie(TOKEN, "10.0.0.1")
    for number in range(3_000):
        tried(f"10.1.{number}.1")
    assert len(signing._failed._full_s) == 1_000  # noqa: SLF001 - its bound is the subject


def test_over_tls_the_cookie_is_for_tls_only(serve: Serve) -> None:
    serving = serve(token=TOKEN)
    assert "; Secure" in sign_in(serving, Sec_Fetch_Site="same-origin", Origin="https://logs.example.org").headers["Set-Cookie"]
    assert "Secure" not in set_cookie("x", secure=False)


@pytest.mark.parametrize("header", [None, "", "vectail_session", "a=b; c", "vectail_session_=1", 'x="vectail_session=1"'])
def test_other_cookies_are_not_ours(header: str | None) -> None:
    assert cookie_of(header) == ""


def test_a_page_of_somebody_else_may_ask_nothing(serve: Serve) -> None:
    serving = serve(documents={"/api/status": lambda _given: {"secret": 1}})
    for foreign in (
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Origin": "http://[::1]:x]"},
        {"Origin": "http://127.0.0.1"},
    ):
        for method, path in (("GET", "/api/status"), ("GET", "/api/export"), ("GET", "/api/tail"), ("POST", PATH), ("GET", "/api/session")):
            answer = serving.refused(None if method == "GET" else b"{}", method=method, path=path, **foreign)
            assert (answer.status, answer.error["code"]) == (403, "cross_site")
    assert serving.get("/", Sec_Fetch_Site="cross-site").status == 200  # a link to the page may stand anywhere
    ours = f"http://127.0.0.1:{serving.server.listening.port}"
    for own in ({"Sec_Fetch_Site": "same-origin"}, {"Sec_Fetch_Site": "none"}, {"Origin": ours}, {}):
        assert serving.get("/api/status", **own).status == 200

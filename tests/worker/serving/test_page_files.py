"""The page's files: what is in the folder and nothing else, with headers under which a log line does no harm."""

from pathlib import Path

import pytest

from tests.worker.serving.conftest import Serve
from tests.worker.serving.serving import WAIT_S
from worker.asking.documents import PageText
from worker.serving.page_files import FOLDER, read_page_files
from worker.serving.server import ServerLimits

TRAVERSALS = [
    "/page/../api.py",
    "/page/%2e%2e/api.py",
    "/page/..%2fapi.py",
    "/page/%2e%2e%2fapi.py",
    "/page/..\\api.py",
    "/page//etc/passwd",
    "/page/%2fetc%2fpasswd",
    "/page/index.html%00.js",
    "/page/..",
    "/page/./index.html",
    "/page/INDEX.HTML",
    "/page/",
    "/page/__init__.py",
]


def test_the_page_and_every_file_of_it_is_sent_as_it_is(serve: Serve) -> None:
    serving = serve(token="secret")  # noqa: S106 - the page needs none
    assert serving.get("/").value == (FOLDER / "index.html").read_bytes()
    names = [file.name for file in FOLDER.iterdir() if file.is_file()]
    assert "app.js" in names
    types = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
    for name in names:
        answer = serving.get(f"/page/{name}")
        assert (answer.status, answer.value) == (200, (FOLDER / name).read_bytes())
        assert answer.headers["Content-Type"].partition(";")[0] == types[Path(name).suffix]


def test_a_browser_that_has_the_newest_file_gets_it_once(serve: Serve) -> None:
    serving = serve()
    answer = serving.get("/page/app.js")
    etag = answer.headers["ETag"]
    assert (answer.headers.get_all("Cache-Control"), etag[0], etag[-1]) == (["no-cache"], '"', '"')
    for known in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        again = serving.get("/page/app.js", If_None_Match=known)
        assert (again.status, again.value, again.headers["ETag"]) == (304, b"", etag)
    assert serving.get("/page/app.js", If_None_Match='"other"').status == 200
    assert serving.get("/").headers["ETag"] == serving.get("/page/index.html").headers["ETag"] != etag


@pytest.mark.slow
@pytest.mark.parametrize("path", TRAVERSALS)
def test_no_path_leads_out_of_the_folder(serve: Serve, path: str) -> None:
    answer = serve().get(path)
    assert (answer.status, answer.error["code"]) == (404, "not_found")


@pytest.mark.parametrize(("path", "home"), [("/nothing", "./"), ("/page/nothing.html", "../"), ("/a/b/c", "../../")])
def test_an_unknown_path_is_a_page_with_a_link_for_browsers_and_json_for_programs(serve: Serve, path: str, home: str) -> None:
    serving = serve()
    page = serving.get(path, Accept="text/html,*/*;q=0.8")
    assert (page.status, page.headers["Content-Type"]) == (404, "text/html; charset=utf-8")
    assert f'<a href="{home}">Search the logs</a>' in page.value.decode()
    assert serving.get(path).error["code"] == "not_found"
    assert serving.get(f"/api{path}", Accept="text/html").error["code"] == "not_found"


def test_only_files_of_known_types_in_the_folder_itself_are_read(tmp_path: Path) -> None:
    (tmp_path / "deep.js").mkdir()
    for name in ("app.js", "notes.py", "deep.js/inner.js", ".env"):
        (tmp_path / name).write_text("x")
    assert list(read_page_files(tmp_path)) == ["app.js"]
    assert read_page_files(tmp_path / "missing") == {}


def test_every_answer_forbids_what_a_page_might_be_made_to_do(serve: Serve) -> None:
    serving = serve(pages={"/metrics": lambda _accept: PageText(b"x", "text/plain")}, limits=ServerLimits(open_queries=1))
    fault = serving.send()
    serving.answer()
    assert fault.getresponse().headers["Content-Security-Policy"]
    fault.close()
    serving.fault = KeyError("planted")
    answers = [serving.get(path) for path in ("/", "/page/app.js", "/page/away.js", "/metrics", "/api/session", "/openapi.json", "/away")]
    answers.append(serving.refused())
    answers.append(serving.refused(Host="evil.example"))
    assert [answer.status for answer in answers] == [200, 200, 404, 200, 200, 200, 404, 500, 421]
    for answer in answers:
        policy = answer.headers.get_all("Content-Security-Policy")
        assert policy == ["default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert answer.headers["Referrer-Policy"] == "same-origin"
        assert answer.headers["Access-Control-Allow-Origin"] is None
    serving.server.close(WAIT_S)

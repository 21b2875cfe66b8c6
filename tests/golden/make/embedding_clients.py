"""Writes what clients of embedding services send: `tests/golden/clients/NAME.jsonl`, a request a line.

Each snippet of `SNIPPETS` stands in `docs/serving.md` too, and runs here against a server that keeps the requests and answers as OpenAI or
TEI does. Run it in an environment of its own with openai 3.57.0, langchain-openai 1.7.4, llama-index-embeddings-openai-like 0.4.0,
llama-index-embeddings-text-embeddings-inference 0.6.0, haystack-ai 3.4.1 and huggingface-hub 2.4.0, and once more for `pgai` in another one
with pgai[vectorizer-worker] 0.12.1, which takes an older openai: `TIKTOKEN_CACHE_DIR=FOLDER python tests/golden/make/embedding_clients.py
NAME…`, where FOLDER has the ranks of cl100k_base as tiktoken keeps them (the wheel of pgai has one). Milvus sends from Go: its requests are written from its source, `internal/util/function/models` at 1bd210a and
059bfd6, with Go's JSON (`<`, `>` and `&` escaped).

`cl100k_tokens.json` has the bytes of the tokens that LangChain's requests name, in base64, so that a test can read them as the server does.

Each line: `client`, `version`, `snippet` (empty: none), `takes` (what it reads of the answer), `method`, `path`, `headers`, `body`.
"""

import asyncio
import base64
import contextlib
import io
import json
import os
import struct
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parents[1] / "clients"
ADDRESS = "http://localhost:8790"
"""In the snippets; the server's own address takes its place."""
MODEL = "all-MiniLM-L6-v2"
KEPT = ("accept", "accept-encoding", "authorization", "content-type")
"""Headers that may matter to a server; the others tell of the client's machine."""


class Snippet(NamedTuple):
    """A call as a user writes it."""

    file: str
    client: str
    """The package, whose version is kept."""
    takes: str
    """`base64` or `float` of OpenAI's answer, `usage` where that is read as well; `lists`: TEI's answer."""
    code: str


SNIPPETS = (
    Snippet(
        "openai",
        "openai",
        "base64 usage",
        """\
from openai import OpenAI

client = OpenAI(base_url="http://localhost:8790/v1", api_key="none")
answer = client.embeddings.create(model="all-MiniLM-L6-v2", input=["disk sda1 is full", "capteur à l'étage 語"])
print(len(answer.data[0].embedding), answer.usage.total_tokens)
""",
    ),
    Snippet(
        "openai",
        "openai",
        "float",
        """\
import asyncio

from openai import AsyncOpenAI


async def embed() -> list[float]:
    async with AsyncOpenAI(base_url="http://localhost:8790/v1", api_key="none") as client:
        answer = await client.embeddings.create(model="all-MiniLM-L6-v2", input="disk sda1 is full", encoding_format="float")
    return answer.data[0].embedding


print(len(asyncio.run(embed())))
""",
    ),
    Snippet(
        "openai",
        "openai",
        "base64",
        """\
from openai import OpenAI

client = OpenAI(base_url="http://localhost:8790/v1", api_key="none")
extra = {"input_type": "query", "priority": "bulk", "truncate": "end"}
answer = client.embeddings.create(model="all-MiniLM-L6-v2", input="what filled the disk?", dimensions=128, user="team-7", extra_body=extra)
print(len(answer.data[0].embedding))
""",
    ),
    Snippet(
        "openai",
        "openai",
        "models",
        """\
from openai import OpenAI

client = OpenAI(base_url="http://localhost:8790/v1", api_key="none")
print([model.id for model in client.models.list()], client.models.retrieve("all-MiniLM-L6-v2").id)
""",
    ),
    Snippet(
        "langchain",
        "langchain-openai",
        "base64",
        """\
from langchain_openai import OpenAIEmbeddings

embeddings = OpenAIEmbeddings(model="all-MiniLM-L6-v2", base_url="http://localhost:8790/v1", api_key="none")
print(len(embeddings.embed_documents(["disk sda1 is full", "", "capteur à l'étage 語"])))
""",
    ),
    Snippet(
        "langchain",
        "langchain-openai",
        "base64",
        """\
from langchain_openai import OpenAIEmbeddings

embeddings = OpenAIEmbeddings(
    model="all-MiniLM-L6-v2", base_url="http://localhost:8790/v1", api_key="none", check_embedding_ctx_length=False
)
print(len(embeddings.embed_query("what filled the disk?")))
""",
    ),
    Snippet(
        "llama_index",
        "llama-index-embeddings-openai-like",
        "base64",
        """\
from llama_index.embeddings.openai_like import OpenAILikeEmbedding

embedding = OpenAILikeEmbedding(model_name="all-MiniLM-L6-v2", api_base="http://localhost:8790/v1", api_key="none")
print(len(embedding.get_text_embedding_batch(["disk sda1 is full", "capteur à l'étage 語"])))
""",
    ),
    Snippet(
        "llama_index",
        "llama-index-embeddings-text-embeddings-inference",
        "lists",
        """\
from llama_index.embeddings.text_embeddings_inference import TextEmbeddingsInference

embedding = TextEmbeddingsInference(model_name="all-MiniLM-L6-v2", base_url="http://localhost:8790", truncate_text=False)
print(len(embedding.get_text_embedding_batch(["disk sda1 is full", "capteur à l'étage 語"])))
""",
    ),
    Snippet(
        "haystack",
        "haystack-ai",
        "float usage",
        """\
from haystack.components.embedders import OpenAITextEmbedder
from haystack.utils import Secret

embedder = OpenAITextEmbedder(model="all-MiniLM-L6-v2", api_base_url="http://localhost:8790/v1", api_key=Secret.from_token("none"))
print(len(embedder.run("what filled the disk?")["embedding"]))
""",
    ),
    Snippet(
        "haystack",
        "haystack-ai",
        "float usage",
        """\
from haystack import Document
from haystack.components.embedders import OpenAIDocumentEmbedder
from haystack.utils import Secret

embedder = OpenAIDocumentEmbedder(model="all-MiniLM-L6-v2", api_base_url="http://localhost:8790/v1", api_key=Secret.from_token("none"))
found = embedder.run([Document(content="disk sda1 is full"), Document(content="capteur à l'étage 語")])
print(len(found["documents"][1].embedding))
""",
    ),
    Snippet(
        "huggingface",
        "huggingface-hub",
        "lists",
        """\
from huggingface_hub import InferenceClient

client = InferenceClient("http://localhost:8790/embed")
print(client.feature_extraction("disk sda1 is full", normalize=True).shape)
""",
    ),
)
PGAI = """\
select ai.create_vectorizer(
    'logs'::regclass,
    loading => ai.loading_column('message'),
    embedding => ai.embedding_openai('all-MiniLM-L6-v2', 384, base_url => 'http://localhost:8790/v1'),
    chunking => ai.chunking_none()
);
"""
MILVUS_OPENAI = """\
from pymilvus import Function, FunctionType

function = Function(
    name="embed",
    function_type=FunctionType.TEXTEMBEDDING,
    input_field_names=["text"],
    output_field_names=["vector"],
    params={"provider": "openai", "model_name": "all-MiniLM-L6-v2", "url": "http://localhost:8790/v1/embeddings", "credential": "any"},
)
"""
MILVUS_TEI = """\
from pymilvus import Function, FunctionType

function = Function(
    name="embed",
    function_type=FunctionType.TEXTEMBEDDING,
    input_field_names=["text"],
    output_field_names=["vector"],
    params={"provider": "TEI", "endpoint": "http://localhost:8790"},
)
"""


class Stub(BaseHTTPRequestHandler):
    """Keeps what arrives."""

    protocol_version = "HTTP/1.1"
    received: list[dict[str, Any]] = []

    def do_GET(self) -> None:
        self.keep("")
        model = {"id": MODEL, "object": "model", "created": 0, "owned_by": "vectail"}
        self.answer({"object": "list", "data": [model]} if self.path.endswith("/models") else model)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        self.keep(body)
        self.answer(openai_answer(json.loads(body)) if self.path.endswith("/embeddings") else tei_answer(json.loads(body)))

    def keep(self, body: str) -> None:
        headers = {name: self.headers[name] for name in KEPT if name in self.headers}
        self.received.append({"method": self.command, "path": self.path, "headers": headers, "body": body})

    def answer(self, value: object) -> None:
        sent = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_words: object) -> None:
        """Say nothing."""


def openai_answer(asked: dict[str, Any]) -> dict[str, Any]:
    inputs = asked["input"]
    count = len(inputs) if isinstance(inputs, list) and inputs and not isinstance(inputs[0], int) else 1
    vector = [1.0] + [0.0] * (asked.get("dimensions", 8) - 1)
    packed = base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
    rows = [
        {"object": "embedding", "index": row, "embedding": vector if asked.get("encoding_format") == "float" else packed}
        for row in range(count)
    ]
    return {"object": "list", "data": rows, "model": asked["model"], "usage": {"prompt_tokens": 3, "total_tokens": 3}}


def tei_answer(asked: dict[str, Any]) -> list[list[float]]:
    return [[1.0, 0.0] for _ in ([asked["inputs"]] if isinstance(asked["inputs"], str) else asked["inputs"])]


def requests_of(run: Callable[[], None]) -> list[dict[str, Any]]:
    Stub.received.clear()
    with contextlib.redirect_stdout(io.StringIO()):
        run()
    return list(Stub.received)


def run_pgai(address: str) -> None:
    from pgai.vectorizer.embedders.openai import OpenAI

    embedder = OpenAI(implementation="openai", model=MODEL, dimensions=384, base_url=f"{address}/v1", api_key_name="OPENAI_API_KEY")
    embedder.set_api_key({"OPENAI_API_KEY": "none"})

    async def embed() -> None:
        async for vectors in embedder.embed(["disk sda1 is full", "capteur à l'étage 語"]):
            assert len(vectors) == 2 and len(vectors[0]) == 384

    asyncio.run(embed())


def go_json(value: object) -> str:
    """As Go's `json.Marshal` writes it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def milvus() -> list[dict[str, Any]]:
    headers = {"accept-encoding": "gzip", "content-type": "application/json"}
    texts = ["disk sda1 is full", "a <b> & capteur à l'étage 語"]
    openai_body = {"model": MODEL, "input": texts, "encoding_format": "float"}
    cut = openai_body | {"user": "team-7", "dimensions": 128}
    with_key = {"accept-encoding": "gzip", "authorization": "Bearer none", "content-type": "application/json"}
    sent = [
        (MILVUS_OPENAI, "float", "/v1/embeddings", with_key, openai_body),
        ("", "float", "/v1/embeddings", with_key, cut),
        (MILVUS_TEI, "lists", "/embed", headers, {"inputs": texts}),
        ("", "lists", "/embed", with_key, {"inputs": texts, "truncate": True, "truncation_direction": "Right"}),
    ]
    return [
        {"client": "milvus", "version": "from source", "snippet": snippet, "takes": takes, "method": "POST", "path": path,
         "headers": kept, "body": go_json(body)}
        for snippet, takes, path, kept, body in sent
    ]  # fmt: skip


def write_tokens(lines: list[dict[str, Any]]) -> None:
    import tiktoken

    encoding = tiktoken.get_encoding("cl100k_base")
    inputs = [json.loads(line["body"])["input"] for line in lines]
    named = {one for lists in inputs if isinstance(lists, list) for ids in lists if isinstance(ids, list) for one in ids}
    tokens = {one: base64.b64encode(encoding.decode_single_token_bytes(one)).decode() for one in sorted(named)}
    (FOLDER / "cl100k_tokens.json").write_text(json.dumps(tokens) + "\n", encoding="utf-8")


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Stub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    os.environ |= {"HAYSTACK_TELEMETRY_ENABLED": "False", "DD_TRACE_ENABLED": "false", "HF_HUB_DISABLE_TELEMETRY": "1"}
    wanted, lines = set(sys.argv[1:]), dict[str, list[dict[str, Any]]]()
    for snippet in [one for one in SNIPPETS if one.file in wanted]:
        found = requests_of(lambda: exec(snippet.code.replace(ADDRESS, address), {"__name__": "snippet"}))
        head = {"client": snippet.client, "version": version(snippet.client), "snippet": snippet.code, "takes": snippet.takes}
        lines.setdefault(snippet.file, []).extend(head | one for one in found)
    if "pgai" in wanted:
        head = {"client": "pgai", "version": version("pgai"), "snippet": PGAI, "takes": "float usage"}
        lines["pgai"] = [head | one for one in requests_of(lambda: run_pgai(address))]
    if "milvus" in wanted:
        lines["milvus"] = milvus()
    FOLDER.mkdir(exist_ok=True)
    if "langchain" in wanted:
        write_tokens(lines["langchain"])
    for name, kept in lines.items():
        written = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in kept)
        (FOLDER / f"{name}.jsonl").write_text(written, encoding="utf-8")


if __name__ == "__main__":
    main()

"""Pins the images of docker-compose.yml by digest: `make images` writes deploy/images.yml, a file that Compose lays over the other.

Run from anywhere, with the standard library only. Each tag is looked up in its registry over HTTP, without an account. A digest is written
only if the manifest that the registry returns for it has that SHA-256, and the file only if every image was found: a shorter one would pin
less than it seems to. Exit code 0 written, or with `--check` the same; 1 not.
"""  # noqa: INP001 - a script of its own, not part of a package

import argparse
import hashlib
import json
import re
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException, HTTPMessage, HTTPResponse
from pathlib import Path
from typing import IO, NamedTuple
from urllib.parse import urlencode, urlsplit

ROOT = Path(__file__).parents[1]
DEFAULT_REGISTRY = "docker.io"
"""What an image's name means that names no registry."""
ADDRESSES = {DEFAULT_REGISTRY: "https://registry-1.docker.io"}
"""Registries that are not asked at their name."""
_MANIFESTS = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_PIN = re.compile(r"(?m)^ +(?:image|PYTHON): (\S+)@(sha256:[0-9a-f]{64})$")
_ANSWER_BYTES = 4 * 1024 * 1024
_TIMEOUT_S = 30.0


class Unresolved(Exception):
    """The registry gave no digest that can be trusted; the message says why."""


class Stack(NamedTuple):
    """What the compose file says of images."""

    images: dict[str, str]
    """Service → image; without those that are built here."""
    built: tuple[str, ...]
    """Services that are built here."""
    base: str
    """The image that they are built on."""


class Image(NamedTuple):
    """A reference, as Docker reads its short form."""

    registry: str
    name: str
    tag: str


def read_stack(text: str) -> Stack:
    """Read a compose file that is laid out as ours is; a service takes over the image of the one that it merges."""
    base = re.search(r"(?m)^ +PYTHON: (\S+)$", text)
    if base is None:
        raise SystemExit("images: the compose file does not say PYTHON, the image that vectail is built on")
    services = re.split(r"(?m)^services:\n", text)[1]
    services = re.split(r"(?m)^(?=\S)", services)[0]
    images: dict[str, str] = {}
    built: list[str] = []
    anchors: dict[str, str] = {}
    for name, anchor, body in re.findall(r"(?m)^  ([\w-]+):(?: &([\w-]+))?\n((?:(?:    .*|)\n)*)", services):
        if re.search(r"(?m)^    build:", body):
            built.append(name)
            continue
        found = re.search(r"(?m)^    image: (?:&(\S+) )?(\S+)$", body) or re.search(r"(?m)^    <<: ()(\*\S+)$", body)
        if found is None:
            raise SystemExit(f"images: the service {name} has no image")
        image = anchors[found[2][1:]] if found[2].startswith("*") else found[2]
        images[name] = image
        anchors |= {one: image for one in (anchor, found[1]) if one}
    return Stack(images, tuple(built), base[1])


def read_image(reference: str) -> Image:
    """Read `[registry/]name:tag`."""
    path, _, tag = reference.rpartition(":")
    first, slash, rest = path.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return Image(first, rest, tag)
    return Image(DEFAULT_REGISTRY, path if slash else f"library/{path}", tag)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows a redirect with the same method; without the token on another host, and never from https to http."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        """Return the next request."""
        following = super().redirect_request(req, fp, code, msg, headers, newurl)
        if following is not None:
            before, after = urlsplit(req.full_url), urlsplit(newurl)
            if before.scheme == "https" != after.scheme:
                raise Unresolved(f"redirected to {after.scheme}")
            following.method = req.get_method()
            if before.netloc != after.netloc:
                following.remove_header("Authorization")
        return following


class Registry:
    """One registry, asked without an account.

    Thread: one.
    """

    def __init__(self, address: str) -> None:
        """`address` is https://HOST, or http://HOST where that is meant."""
        if urlsplit(address).scheme not in ("http", "https"):
            raise SystemExit(f"images: {address} is no http or https address")
        self._address = address.rstrip("/")
        self._opener = urllib.request.build_opener(_Redirects)

    def digest(self, image: Image) -> str:
        """Return the digest of the manifest that a tag names now. Raises Unresolved."""
        try:
            return self._digest(image)
        except urllib.error.HTTPError as error:
            raise Unresolved(f"the registry answers {error.code} {error.reason}") from error
        except (OSError, HTTPException, ValueError) as error:
            raise Unresolved(f"the registry cannot be asked: {error}") from error

    def _digest(self, image: Image) -> str:
        token = ""
        try:
            answered = self._ask("HEAD", image, image.tag, token)
        except urllib.error.HTTPError as error:
            if error.code != 401:  # noqa: PLR2004 - unauthorized: it says where a token is to be had
                raise
            token = self._token(error.headers.get("WWW-Authenticate", ""))
            answered = self._ask("HEAD", image, image.tag, token)
        with answered:
            digest = answered.headers.get("Docker-Content-Digest", "")
        if not _DIGEST.fullmatch(digest):
            raise Unresolved(f"the registry names no SHA-256 digest, but {digest[:80]!r}")
        with self._ask("GET", image, digest, token) as manifest:
            found = "sha256:" + hashlib.sha256(manifest.read(_ANSWER_BYTES)).hexdigest()
        if found != digest:
            raise Unresolved(f"the registry says {digest}, and returns a manifest of {found}")
        return digest

    def _ask(self, method: str, image: Image, reference: str, token: str) -> HTTPResponse:
        headers = {"Accept": ", ".join(_MANIFESTS)} | ({"Authorization": f"Bearer {token}"} if token else {})
        address = f"{self._address}/v2/{image.name}/manifests/{reference}"
        return self._open(urllib.request.Request(address, headers=headers, method=method))  # noqa: S310 - http or https, see above

    def _token(self, challenge: str) -> str:
        scheme, _, words = challenge.partition(" ")
        asked = dict(re.findall(r'(\w+)="([^"]*)"', words))
        realm = asked.pop("realm", "")
        allowed = {"https", urlsplit(self._address).scheme}
        if scheme.lower() != "bearer" or urlsplit(realm).scheme not in allowed:
            raise Unresolved(f"the registry wants an account: {challenge[:80]!r}")
        wanted = {name: text for name, text in asked.items() if name in ("service", "scope")}
        with self._open(urllib.request.Request(f"{realm}?{urlencode(wanted)}")) as answered:  # noqa: S310 - http or https, see above
            answer = json.loads(answered.read(_ANSWER_BYTES))
        token = (answer.get("token") or answer.get("access_token")) if isinstance(answer, dict) else None
        if not isinstance(token, str):
            raise Unresolved("the registry gives no token without an account")
        return token

    def _open(self, request: urllib.request.Request) -> HTTPResponse:
        answered: HTTPResponse = self._opener.open(request, timeout=_TIMEOUT_S)
        return answered


def resolve(references: set[str], addresses: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Look up images; return the digest of each, and why the others have none."""
    digests: dict[str, str] = {}
    failures: dict[str, str] = {}
    for reference in sorted(references):
        image = read_image(reference)
        try:
            digests[reference] = Registry(addresses.get(image.registry, f"https://{image.registry}")).digest(image)
        except Unresolved as error:
            failures[reference] = str(error)
    return digests, failures


def override(stack: Stack, digests: Mapping[str, str]) -> str:
    """Return the file that pins the images of a stack."""
    lines = ["# Written by `make images`: what the tags of docker-compose.yml named then.", "services:"]
    for service, image in stack.images.items():
        lines += [f"  {service}:", f"    image: {image}@{digests[image]}"]
    for service in stack.built:
        lines += [f"  {service}:", "    build:", "      args:", f"        PYTHON: {stack.base}@{digests[stack.base]}"]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(prog="images", description="Pins the images of docker-compose.yml by digest.")
    parser.add_argument("--check", action="store_true", help="compare the file with the registries, and write nothing")
    parser.add_argument("--registry", action="append", default=[], metavar="NAME=URL", help="where to ask a registry; may be repeated")
    parser.add_argument("--compose", type=Path, default=ROOT / "docker-compose.yml", metavar="FILE")
    parser.add_argument("--output", type=Path, default=ROOT / "deploy/images.yml", metavar="FILE")
    options = parser.parse_args()
    addresses = ADDRESSES | dict(one.partition("=")[::2] for one in options.registry)
    stack = read_stack(options.compose.read_text(encoding="utf-8"))
    digests, failures = resolve({*stack.images.values(), stack.base}, addresses)
    for image, reason in failures.items():
        sys.stderr.write(f"images: {image}: {reason}\n")
    if failures:
        sys.stderr.write(
            f"images: {len(failures)} of {len(failures) + len(digests)} images were not found; {options.output} stays as it is\n"
        )
        return 1
    wanted = override(stack, digests)
    if not options.check:
        options.output.write_text(wanted, encoding="utf-8")
        return 0
    there = options.output.read_text(encoding="utf-8") if options.output.is_file() else ""
    pinned = dict(_PIN.findall(there))
    for image, digest in digests.items():
        if pinned.get(image) != digest:
            sys.stderr.write(f"images: {image}: {pinned.get(image, 'not pinned')} in the file, {digest} in the registry\n")
    if there != wanted:
        sys.stderr.write(f"images: {options.output} is not what `make images` would write\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

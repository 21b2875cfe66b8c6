"""Writes what vectail ships as a CycloneDX document: the locked packages that it runs with, and the files of its two models.

`make sbom` runs it in .venv: it reads what is installed there, and requirements.lock for the hashes. It prints a table of the licences,
and fails on one that is not in `LICENCES`: somebody must read it first. Packages that are only there for tests and for building are left
out, as is what belongs to another platform.
"""  # noqa: INP001 - a script of its own, not part of a package

import argparse
import hashlib
import json
import re
import sys
import uuid
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import Requirement

from worker.embedding.model.difference import LOGS
from worker.embedding.model.folder import PLAIN, TUNED, default_folder
from worker.embedding.model.released import RELEASED

ROOT = Path(__file__).parents[2]
PROJECT = "vectail"
LICENCES = frozenset(
    ("Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "MPL-2.0", "PSF-2.0"),
)
"""SPDX names of the licences that are known, and allow what we do."""
NAMES = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "ISC License": "ISC",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
"""What packages write for them."""
DECLARED = {"google-re2": "BSD-3-Clause", "jinja2": "BSD-3-Clause", "numpy": "BSD-3-Clause"}
"""Of packages that only say "BSD" or give the text: read in their licence files."""
MODEL_LICENCE = "Apache-2.0"
"""Of both models. The package that carries the plain one has a licence of its own."""


class Package(NamedTuple):
    """One package that is shipped."""

    name: str
    version: str
    licence: str
    """An SPDX expression; empty: unknown."""
    hashes: tuple[str, ...]
    """SHA-256 of the files that may have been installed, as locked."""
    needs: tuple[str, ...]


def locked_hashes(text: str) -> dict[tuple[str, str], tuple[str, ...]]:
    """Read the lock: name and version → hashes."""
    found = {}
    for paragraph in re.split(r"\n(?=\S)", text.strip()):
        head = re.match(r"([a-z0-9-]+)==(\S+)", paragraph)
        if head is not None:
            found[head[1], head[2]] = tuple(re.findall(r"--hash=sha256:([0-9a-f]{64})", paragraph))
    return found


def licence_of(package: Distribution) -> str:
    """Return an SPDX expression of known licences, or nothing."""
    metadata = package.metadata
    name = _plain(metadata["Name"])
    classified = sorted({one.rpartition(" :: ")[2] for one in metadata.get_all("Classifier") or () if one.startswith("License ::")})
    said = [
        DECLARED.get(name),
        metadata.get("License-Expression"),
        metadata.get("License"),
        " AND ".join(NAMES.get(one, one) for one in classified),
    ]
    for text in said:
        expression = NAMES.get(text or "", text or "")
        if expression and is_known(expression):
            return expression
    return ""


def is_known(expression: str) -> bool:
    """Whether an SPDX expression names known licences only."""
    words = re.sub(r"[()]", " ", expression).split()
    return bool(words) and all(word in LICENCES or word in ("AND", "OR") for word in words)


def packages(lock: str) -> list[Package]:
    """Return what the project needs at run time, with all that this needs. Raises SystemExit if something is not as locked."""
    hashes = locked_hashes(lock)
    locked = {name for name, _ in hashes}
    found: dict[str, Package] = {}
    seen: set[tuple[str, tuple[str, ...]]] = set()
    todo: list[tuple[str, tuple[str, ...]]] = [(PROJECT, ())]
    while todo:
        name, extras = todo.pop()
        if (name, extras) in seen or (name != PROJECT and name not in locked):
            continue  # `make lock` leaves out on purpose what a package asks for and we do not use
        seen.add((name, extras))
        try:
            package = distribution(name)
        except PackageNotFoundError:
            raise SystemExit(f"sbom: {name} is locked and not installed; run make setup") from None
        needs = sorted(set(_needs(package, extras)))
        todo += needs
        if name == PROJECT:
            continue
        if (name, package.version) not in hashes:
            raise SystemExit(f"sbom: {name} {package.version} is installed, which is not the locked version; run make setup")
        known = found[name].needs if name in found else ()
        needed = tuple(sorted({*known, *(one for one, _ in needs if one in locked)}))
        found[name] = Package(name, package.version, licence_of(package), hashes[name, package.version], needed)
    return [found[name] for name in sorted(found)]


def _needs(package: Distribution, extras: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for text in package.requires or ():
        asked = Requirement(text)
        if asked.marker is None or any(asked.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield _plain(asked.name), tuple(sorted(asked.extras))


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def document(shipped: list[Package]) -> dict[str, Any]:
    """Return the document; the same packages give the same one."""
    root = distribution(PROJECT)
    reference = f"pkg:pypi/{PROJECT}@{root.version}"
    refs = {one.name: f"pkg:pypi/{one.name}@{one.version}" for one in shipped}
    components = [
        {
            "type": "library",
            "bom-ref": refs[one.name],
            "name": one.name,
            "version": one.version,
            "purl": refs[one.name],
            "licenses": [{"expression": one.licence}],
            # One of them is installed; which one depends on the platform.
            "properties": [{"name": "vectail:locked-sha256", "value": text} for text in one.hashes],
        }
        for one in shipped
    ]
    direct = {refs[name] for name, _ in _needs(root, ()) if name in refs}
    plain, tuned = models()
    body: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": reference,
                "name": PROJECT,
                "version": root.version,
                "purl": reference,
                "licenses": [{"expression": licence_of(root)}],
            }
        },
        "components": [*components, plain, tuned],
        "dependencies": [
            {"ref": reference, "dependsOn": sorted([*direct, plain["bom-ref"], tuned["bom-ref"]])},
            {"ref": tuned["bom-ref"], "dependsOn": [plain["bom-ref"]]},  # it is the difference from the plain one
            *({"ref": refs[one.name], "dependsOn": [refs[name] for name in one.needs if name in refs]} for one in shipped),
        ],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(body, sort_keys=True))
    return {"$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json", "serialNumber": f"urn:uuid:{serial}", **body}


def models() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the components of the plain model and of the one that was trained from it on logs."""
    released = [default_folder() / name for name in sorted(RELEASED)]
    plain = _model("sentence-transformers", PLAIN, "1110a243", released)
    return plain, _model(PROJECT, TUNED, distribution(PROJECT).version, [LOGS])


def _model(group: str, name: str, version: str, files: list[Path]) -> dict[str, Any]:
    reference = f"model:{name}@{version}"
    return {
        "type": "machine-learning-model",
        "bom-ref": reference,
        "group": group,
        "name": name,
        "version": version,
        "licenses": [{"license": {"id": MODEL_LICENCE}}],
        "components": [
            {
                "type": "file",
                "bom-ref": f"{reference}/{file.name}",
                "name": file.name,
                "hashes": [{"alg": "SHA-256", "content": _sha256(file)}],
            }
            for file in files
        ],
    }


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def main() -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(prog="sbom", description="Writes what vectail ships as a CycloneDX document.")
    parser.add_argument("--output", type=Path, default=ROOT / "dist/sbom.cdx.json", metavar="FILE")
    output = parser.parse_args().output
    shipped = packages((ROOT / "requirements.lock").read_text(encoding="utf-8"))
    known = [Package(one["name"], one["version"], MODEL_LICENCE, (), ()) for one in models()]
    for one in (*shipped, *known):
        sys.stdout.write(f"{one.name:28} {one.version:14} {one.licence or 'UNKNOWN'}\n")
    unknown = [one.name for one in shipped if not one.licence]
    if unknown:
        sys.stderr.write(
            f"sbom: nobody has read the licences of {', '.join(unknown)}: see LICENCES and DECLARED in {Path(__file__).name}\n"
        )
        return 1
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(document(shipped), indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

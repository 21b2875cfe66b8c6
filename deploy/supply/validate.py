"""Checks a CycloneDX document against the schema; runs in .venv-supply, which has it. Exit code 1 with the first fault."""  # noqa: INP001 - a script

import sys
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

fault = JsonStrictValidator(SchemaVersion.V1_6).validate_str(Path(sys.argv[1]).read_text(encoding="utf-8"))
if fault is not None:
    sys.stderr.write(f"sbom: {sys.argv[1]} is no CycloneDX 1.6: {fault}\n"[:2_000])
    sys.exit(1)

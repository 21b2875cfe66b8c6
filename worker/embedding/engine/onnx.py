"""ONNX Runtime in process, on a graph of our own: the other engine that needs only a CPU. Only this module imports it.

Exact: float32 throughout, and a text's vector is the same in any batch but for the last bits (cosine 0.9999998 or better). What other
programs run on ONNX Runtime as int8 scales activations over the whole batch, so that a vector depends on the texts beside it: cosine 0.978.

Measured beside llama.cpp in turns, on two idle AVX-512 cores, texts a second: 2.0 times as many of 19 tokens in batches of 512 tokens,
1.65 times with lengths of 8 to 256 mixed, 1.2 times one text at a time (docs/performance.md). `engine.name = "auto"` measures both on the
machine itself. 8-bit weights made one text alone 8 % faster, and batches a quarter slower. After a while the process has 86 MB more of its
own memory, 42 of them the weights as they are multiplied; llama.cpp has 72. Batches of 1,024 tokens were no faster.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as native

from worker.embedding.engine.engine import OutOfMemory, checked_lengths, is_lack_of_memory, normalized
from worker.embedding.engine.packed_batch import packed
from worker.embedding.model.errors import ModelError
from worker.embedding.model.onnx_graph import bert_graph
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.model.vectors import TokenIds, Vectors

BATCH_TOKENS = 512
"""Default budget: twice as many were no faster, and a query does not wait long for a bulk batch."""
_NATIVE = tuple(one for one in vars(native).values() if isinstance(one, type) and issubclass(one, Exception))
"""Its own exceptions, which have no parent in common."""
_FAILURES: tuple[type[Exception], ...] = (*_NATIVE, MemoryError, RuntimeError, ValueError)
_SILENT = 4
"""Fatal errors only: everything else is in the exception."""

onnxruntime.set_default_logger_severity(_SILENT)
onnxruntime.disable_telemetry_events()


class OnnxEngine:
    """Implements `Engine`: a session on the prepared model's weights.

    Thread: one, the engine stage's.
    """

    name = "onnx"
    on_cpu = True

    def __init__(self, model: PreparedModel, *, threads: int, batch_tokens: int | None = None, quantized: bool = False) -> None:
        """Load the weights (a tenth of a second). Raises ModelError."""
        self.dim = model.dim
        self.max_tokens = model.max_tokens
        self.batch_tokens = max(batch_tokens or BATCH_TOKENS, model.max_tokens)
        self._pooling = model.pooling
        self._vocabulary_size = model.vocabulary_size
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = _SILENT
        options.enable_mem_pattern = False  # it plans for one shape, and no two batches have the same
        # A thread that has nothing to do sleeps: spinning it would take a core from the rest of the worker, or from another model.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(model.hf))
        graph = bert_graph(model, quantized=quantized)
        try:
            self._session: Any = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        except _FAILURES as error:
            raise ModelError(f"ONNX Runtime cannot load {model.name}: {_one_line(error)}; prepare the model again") from error

    def embed(self, batch: Sequence[TokenIds]) -> Vectors:
        """See `Engine`."""
        lengths = checked_lengths(batch, max_tokens=self.max_tokens, batch_tokens=self.batch_tokens)
        if self._session is None:
            raise RuntimeError("the engine is closed")
        if not len(batch):
            return np.empty((0, self.dim), dtype=np.float32)
        inputs = packed(batch, lengths, self._pooling)
        wrong = inputs["ids"][(inputs["ids"] < 0) | (inputs["ids"] >= self._vocabulary_size)]
        if len(wrong):  # a negative one would count from the end
            raise RuntimeError(f"token {wrong[0]} is not one of the model's {self._vocabulary_size}")
        error_type: type[RuntimeError]
        try:
            vectors: Vectors = self._session.run(None, inputs)[0]
        except _FAILURES as error:
            error_type = OutOfMemory if is_lack_of_memory(error) else RuntimeError
            reason = f"ONNX Runtime failed on {len(batch)} texts of {lengths.sum()} tokens: {_one_line(error)}"
        else:
            return normalized(vectors)
        # Outside the except clause: there the exception would keep the batch's arrays alive, and their memory is needed.
        raise error_type(reason)

    def close(self) -> None:
        """Free the session; safe to call twice."""
        self._session = None


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__

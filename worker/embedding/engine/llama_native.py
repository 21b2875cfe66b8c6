"""Wraps llama.cpp's C interface: the only module that imports its binding.

`worker.embedding.tokenizer` and `worker.embedding.engine.llama` use it. Models, vocabularies and contexts are addresses (plain
integers); ctypes releases the GIL during every call. llama.cpp's own output is silenced: the first error line of a call goes into the
exception instead.
"""

import ctypes
import functools
import os
from typing import Protocol, cast

# libgomp reads it when it is loaded. Without it, a thread spins through 300,000 pauses for one that other work holds up: beside three
# busy loops on two cores a batch took 2.6 times as long, and 2.8 times the processor. On an idle machine it makes no difference.
os.putenv("GOMP_SPINCOUNT", "10000")

import llama_cpp.llama_cpp as binding
import numpy as np
from numpy.typing import NDArray

from worker.embedding.engine.engine import OutOfMemory
from worker.embedding.model.errors import ModelError
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.model.weight_names import WEIGHTS_SHA256

_ALLOCATION_FAILED = -2
"""What `llama_encode` returns for `GGML_STATUS_ALLOC_FAILED` (llama-context.cpp)."""
_LOG_ERROR = 4
"""`GGML_LOG_LEVEL_ERROR` in ggml.h; the binding's own table is out of date."""


class _Tokenize(Protocol):
    def __call__(
        self, vocabulary: int, text: int, text_bytes: int, ids: int, room_tokens: int, add_special: int, parse_special: int, /
    ) -> int: ...


@functools.cache
def tokenize_function() -> _Tokenize:
    """Return `llama_tokenize` with our own prototype, which takes addresses where the binding takes `bytes`.

    Arguments: vocabulary, address of UTF-8 text, its bytes, address of int32s, their number, add special?, parse special?
    Returns the number of tokens written, or minus the number needed.
    """
    function = binding._lib["llama_tokenize"]  # noqa: SLF001 - a second object; the binding's own stays unchanged
    number, address, switch = ctypes.c_int32, ctypes.c_void_p, ctypes.c_bool
    function.argtypes = (address, address, number, address, number, switch, switch)
    function.restype = number
    return cast("_Tokenize", function)


class _Log:
    """The first error line since the call began (later ones only repeat that it failed); one per process, like llama.cpp's log.

    Thread: any; whichever thread logs writes one attribute.
    """

    first_error = ""

    @classmethod
    def keep(cls, level: int, text: bytes | None, _user: object) -> None:
        line = (text or b"").decode("utf-8", "replace").strip()
        if level == _LOG_ERROR and not cls.first_error:
            cls.first_error = line


_KEEP_ERRORS = binding.llama_log_callback(_Log.keep)
"""Kept alive here: llama.cpp calls it as long as the process lives."""


def _reason() -> str:
    return _Log.first_error or "llama.cpp gave no reason"


@functools.cache
def _start() -> None:
    """Silence the log and start the library, once per process."""
    binding.llama_log_set(_KEEP_ERRORS, ctypes.c_void_p(0))
    binding.llama_backend_init()


@functools.cache
def _no_normalizer() -> ctypes.Array[binding.llama_model_kv_override]:
    """Overrides that turn off lowering and accent stripping in llama.cpp, a fifth of its tokenizing time.

    `worker.embedding.tokenizer` passes only ASCII, in lower case if the model needs it. The last, empty override ends the list.
    """
    overrides = (binding.llama_model_kv_override * 3)()
    for override, rule in zip(overrides, (b"lowercase", b"strip_accents"), strict=False):
        override.tag = binding.LLAMA_KV_OVERRIDE_TYPE_BOOL
        override.key = b"tokenizer.ggml.normalizer." + rule
        override.value.val_bool = False
    return overrides


def load_model(prepared: PreparedModel, *, vocabulary_only: bool) -> int:
    """Load the GGUF of a prepared model and check that it is the prepared one.

    Returns the model's address, for `free_model`. Raises ModelError.
    """
    _start()
    _Log.first_error = ""
    settings = binding.llama_model_default_params()
    settings.vocab_only = vocabulary_only
    settings.n_gpu_layers = 0
    if vocabulary_only:
        settings.kv_overrides = _no_normalizer()
    model = binding.llama_model_load_from_file(str(prepared.gguf).encode(), settings)
    if not model:
        raise ModelError(f"llama.cpp cannot load {prepared.gguf}: {_reason()}")
    found = (binding.llama_vocab_n_tokens(vocabulary_of(model)), _weights_sha256(model))
    wanted = (prepared.vocabulary_size, prepared.weights_sha256)
    if found != wanted:
        free_model(model)
        raise ModelError(f"{prepared.gguf} holds another model: tokens and weights are {found}, not {wanted}")
    return int(model)


def free_model(model: int) -> None:
    """Free a model and its vocabulary."""
    binding.llama_model_free(binding.llama_model_p(model))


def vocabulary_of(model: int) -> int:
    """Return the address of the model's vocabulary, valid as long as the model."""
    return int(binding.llama_model_get_vocab(binding.llama_model_p(model)) or 0)


def dim_of(model: int) -> int:
    """Return the components of a vector."""
    return int(binding.llama_model_n_embd(binding.llama_model_p(model)))


def _weights_sha256(model: int) -> str:
    text = ctypes.create_string_buffer(80)
    length = binding.llama_model_meta_val_str(binding.llama_model_p(model), WEIGHTS_SHA256.encode(), text, len(text))
    return text.value.decode() if length > 0 else ""


class Context:
    """Computes one packed batch at a time for one model, in one pass.

    Thread: one.
    """

    def __init__(self, model: int, *, batch_tokens: int, sequences: int, threads: int, flash_attention: bool) -> None:
        """Reserve memory for batches of `batch_tokens` in at most `sequences` (1 … 256) sequences. Raises ModelError."""
        settings = binding.llama_context_default_params()
        # llama.cpp reserves a graph with equally long sequences, and aborts the process if that does not fit.
        settings.n_ctx = settings.n_batch = settings.n_ubatch = -(-batch_tokens // sequences) * sequences
        settings.n_seq_max = sequences
        settings.n_threads = settings.n_threads_batch = threads
        settings.embeddings = True
        settings.flash_attn_type = binding.LLAMA_FLASH_ATTN_TYPE_ENABLED if flash_attention else binding.LLAMA_FLASH_ATTN_TYPE_DISABLED
        settings.no_perf = True
        _Log.first_error = ""
        self._address = binding.llama_init_from_model(binding.llama_model_p(model), settings)
        if not self._address:
            raise ModelError(f"llama.cpp cannot make room for batches of {batch_tokens} tokens: {_reason()}")
        self._dim = dim_of(model)
        self.tokens = np.zeros(batch_tokens, dtype=np.int32)
        """int32[batch_tokens]: the caller writes a batch's token ids here, one sequence after another."""
        self._positions = np.zeros(batch_tokens, dtype=np.int32)
        self._ones = np.ones(batch_tokens, dtype=np.int32)
        self._wanted = np.ones(batch_tokens, dtype=np.int8)
        self._numbers = np.arange(sequences, dtype=np.int32)
        self._sequence_of = np.zeros(batch_tokens, dtype=np.uintp)
        """Addresses into `_numbers`: the sequence of each token."""
        self._batch = binding.llama_batch(
            token=self.tokens.ctypes.data_as(ctypes.POINTER(ctypes.c_int32)),
            pos=self._positions.ctypes.data_as(ctypes.POINTER(ctypes.c_int32)),
            n_seq_id=self._ones.ctypes.data_as(ctypes.POINTER(ctypes.c_int32)),
            seq_id=self._sequence_of.ctypes.data_as(ctypes.POINTER(ctypes.POINTER(ctypes.c_int32))),
            logits=self._wanted.ctypes.data_as(ctypes.POINTER(ctypes.c_int8)),
        )

    def encode(self, lengths: NDArray[np.int64], vectors: NDArray[np.float32]) -> None:
        """Embed the sequences whose ids are in `tokens`; write their pooled, unscaled vectors to `vectors`.

        `lengths` is int64[n], each at least 1; `vectors` is float32[n, dim], contiguous. Raises OutOfMemory or RuntimeError.
        """
        count, total = len(lengths), int(lengths.sum())
        starts = np.cumsum(lengths) - lengths
        self._positions[:total] = np.arange(total) - np.repeat(starts, lengths)
        self._sequence_of[:total] = np.repeat(self._numbers.ctypes.data + self._numbers[:count].astype(np.int64) * 4, lengths)
        self._batch.n_tokens = total
        _Log.first_error = ""
        if (code := binding.llama_encode(self._address, self._batch)) != 0:
            error = OutOfMemory if code == _ALLOCATION_FAILED else RuntimeError
            raise error(f"llama.cpp failed with code {code} on {count} texts of {total} tokens: {_reason()}")
        row_bytes = self._dim * vectors.itemsize
        for sequence in range(count):
            pooled = binding.llama_get_embeddings_seq(self._address, sequence)
            if not pooled:
                raise RuntimeError(f"llama.cpp gave no vector for text {sequence} of {count}")
            ctypes.memmove(vectors.ctypes.data + sequence * row_bytes, pooled, row_bytes)

    def close(self) -> None:
        """Free the memory; safe to call twice."""
        if self._address:
            binding.llama_free(self._address)
            self._address = None

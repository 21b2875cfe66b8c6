"""Tokens embedded per second on an NVIDIA GPU: vLLM as commonly called, vLLM as vectail calls it, and replicas that share the card.

    python -m benchmarks.gpu [--quick] [--json]        (or a copy of this file: it needs nothing but vLLM, torch and numpy)

Caveats first. Weights are random; their cost is the same. `default` is `LLM.embed(list[str])`; `ids` are ready token ids by add_request
and step, converted once a batch as in `worker/embedding/engine/vllm.py`, so only the first includes tokenising. All replicas are loaded
before any is measured, each with its share of the memory; n of them then work at once, and rates cover only the time in which all did.
The share of the peak counts only the layers' multiplications, against the maker's dense bfloat16 figure.

Every process that loads a model runs this file with `--replica`: it reads one JSON object a line and answers with one. A replica that fails
or takes too long is killed and shown as failed; the others continue. Exit code 2: no NVIDIA GPU. `gpu_worker` measures the whole worker.
"""

import argparse
import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

PEAKS_TFLOPS = {"H200": 989.0, "H100": 989.0, "A100": 312.0, "L40S": 362.0, "L40": 181.0, "L4": 121.0, "RTX 4090": 165.0}
"""Dense bfloat16, float32 sums. Another card's peak is measured with one big multiplication."""
VOCABULARY, POSITIONS, SPECIAL = 30_522, 512, ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_WHOLE = (VOCABULARY - len(SPECIAL)) // 2
MEMORY_SHARE, BATCH_TOKENS, SEQUENCES, CPU_BATCH_TOKENS, CPU_CACHE_BYTES = 0.8, 16_384, 1024, 1024, 64 * 1024 * 1024
IMPORT_S, LOAD_S, WARM_S, END_S, SLICES, SAMPLE = 300.0, 900.0, 300.0, 10.0, 5, 16


class Shape(NamedTuple):
    """A BERT: its size, and the lengths at which it is measured."""

    name: str
    layers: int
    dim: int
    heads: int
    tokens: tuple[int, ...]

    def flops_per_token(self, tokens: int) -> float:
        """2 for each weight of the layers (12 dim²), and attention over the text: 4 dim for each of its tokens."""
        return self.layers * (24.0 * self.dim**2 + 4.0 * tokens * self.dim)


SHAPES = (Shape("MiniLM", 6, 384, 12, (50,)), Shape("BERT-base", 12, 768, 12, (50, 512)))
TINY = (Shape("tiny", 2, 64, 2, (50,)),)


class Failed(Exception):
    """A process has ended, or did not answer in time."""


# What a replica does

Embed = Callable[[Sequence[Any]], Iterator[Any]]
"""Texts, or arrays of ids, to vectors: float32[n, dim] after each batch, in order."""


def say_to_vllm(*, threads: int, own_process: bool = True) -> None:
    """Set the environment variables that vLLM reads on import and accepts in no other way."""
    os.environ.update(DO_NOT_TRACK="1", HF_HUB_OFFLINE="1", VLLM_HOST_IP="127.0.0.1", VLLM_NO_USAGE_STATS="1")
    os.environ.update(VLLM_ENABLE_V1_MULTIPROCESSING=str(int(own_process)), OMP_NUM_THREADS=str(threads))


def replica() -> None:
    """Import, load and measure, each when the parent says so. Ends with its standard input."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the output of libraries goes to the log

    def answer(**what: Any) -> None:  # noqa: ANN401 - JSON
        answers.write(json.dumps(what) + "\n")
        answers.flush()

    asked = (json.loads(line) for line in sys.stdin)
    plan = next(asked)
    default = plan["way"] == "default"
    say_to_vllm(threads=plan["threads"], own_process=default)
    import vllm  # noqa: F401, PLC0415 - minutes on a slow disk: all replicas do this at once, and load one after another

    answer(imported=True)
    next(asked)
    number_format, embed = load_default(plan) if default else load_ids(plan)
    answer(loaded=number_format)
    given: Sequence[Any] = ()
    tokens = 0
    for wish in asked:
        if "tokens" in wish:
            tokens = wish["tokens"]
            texts, ids = made_texts(wish["texts"], tokens)
            given = texts if default else ids
            answer(ready=True, sample=np.concatenate(list(embed(given)))[:SAMPLE].tolist())
            continue
        marks = [(time.monotonic(), 0)]
        while marks[-1][0] < marks[0][0] + wish["seconds"]:
            for vectors in embed(given):
                marks.append((time.monotonic(), marks[-1][1] + len(vectors) * tokens))
        answer(marks=marks)


def load_default(plan: Mapping[str, Any]) -> tuple[str, Embed]:
    """Load `LLM` as its guide shows it. On a CPU also without torch.compile, and with a cache smaller than the memory."""
    from vllm import LLM  # noqa: PLC0415 - as in `replica`

    if plan["cpu"]:
        llm = LLM(plan["folder"], runner="pooling", dtype="float32", enforce_eager=True, kv_cache_memory_bytes=CPU_CACHE_BYTES)
    else:
        llm = LLM(plan["folder"], runner="pooling")

    def embed(texts: Sequence[str]) -> Iterator[Any]:
        yield np.array([output.outputs.embedding for output in llm.embed(list(texts))], dtype=np.float32)

    return str(llm.llm_engine.model_config.dtype), embed


def load_ids(plan: Mapping[str, Any]) -> tuple[str, Embed]:
    """Load `LLMEngine` with vectail's settings."""
    import torch  # noqa: PLC0415 - as in `replica`
    from vllm import PoolingParams  # noqa: PLC0415 - as torch
    from vllm.config import PoolerConfig  # noqa: PLC0415 - as torch
    from vllm.engine.arg_utils import EngineArgs  # noqa: PLC0415 - as torch
    from vllm.v1.engine.llm_engine import LLMEngine  # noqa: PLC0415 - as torch

    budget = CPU_BATCH_TOKENS if plan["cpu"] else plan["batch_tokens"]
    arguments = EngineArgs(
        model=plan["folder"],
        runner="pooling",
        convert="embed",
        skip_tokenizer_init=True,
        pooler_config=PoolerConfig(pooling_type="MEAN"),
        dtype="float32" if plan["cpu"] else "bfloat16",
        enforce_eager=plan["cpu"],
        max_model_len=POSITIONS,
        max_num_batched_tokens=budget,
        max_num_seqs=min(SEQUENCES, budget),
        gpu_memory_utilization=plan["share"],
        kv_cache_memory_bytes=CPU_CACHE_BYTES if plan["cpu"] else None,
        enable_prefix_caching=False,
        enable_chunked_prefill=False,
        disable_log_stats=True,
        use_tqdm_on_load=False,
    )
    engine = LLMEngine.from_engine_args(arguments)
    pooling = PoolingParams(task="embed", use_activation=False)
    sent = 0

    def embed(ids: Sequence[Any]) -> Iterator[Any]:
        nonlocal sent
        together = min(max(budget // len(ids[0]), 1), SEQUENCES)
        for start in range(0, len(ids), together):
            asked = {str(sent + row): one.tolist() for row, one in enumerate(ids[start : start + together])}
            sent += len(asked)
            given = {engine.add_request(name, {"prompt_token_ids": one}, pooling) or name: name for name, one in asked.items()}
            found = {}
            while engine.has_unfinished_requests():
                for output in engine.step():
                    found[given.get(output.request_id, output.request_id)] = output.outputs.data
            stacked = torch.stack([found[name] for name in asked]).to(torch.float32).cpu().numpy()
            yield stacked / np.linalg.norm(stacked, axis=1, keepdims=True)

    return str(engine.model_config.dtype), embed


def probe() -> None:
    """Print the card's name and, where the table does not know it, its measured peak in TFLOP/s; nothing without a card."""
    import torch  # noqa: PLC0415 - in a process of its own: no memory of the card is held while others are measured

    if torch.version.cuda is None or not torch.cuda.is_available():
        return
    name = torch.cuda.get_device_name(0)
    peak, source = next(((tflops, "table") for card, tflops in PEAKS_TFLOPS.items() if card in name), (0.0, "measured"))
    if not peak:
        side, seconds = 8192, []
        left = torch.randn(side, side, device="cuda", dtype=torch.bfloat16)
        for _ in range(12):
            torch.cuda.synchronize()
            began_s = time.perf_counter()
            left @ left
            torch.cuda.synchronize()
            seconds.append(time.perf_counter() - began_s)
        peak = 2 * side**3 / min(seconds) / 1e12
    print(json.dumps({"device": name, "peak_tflops": round(peak, 1), "peak_from": source}))


# Texts and models


def made_texts(count: int, tokens: int) -> tuple[list[str], list[Any]]:
    """Return seeded texts of words of two pieces, and their ids, [CLS] and [SEP] included: int64[tokens] each."""
    pieces = vocabulary()
    numbers = np.random.default_rng(7)
    ids = numbers.integers(len(SPECIAL), len(SPECIAL) + _WHOLE, size=(count, tokens))
    ids[:, 2::2] += _WHOLE  # every second piece continues the previous word
    ids[:, 0], ids[:, -1] = SPECIAL.index("[CLS]"), SPECIAL.index("[SEP]")
    return [" ".join(pieces[one] for one in row[1:-1]).replace(" ##", "") for row in ids], list(ids)


def vocabulary() -> list[str]:
    """Return the special tokens, words of four letters, and the same letters as continuations of a word."""
    letters = ["".join(chr(97 + number // 26**place % 26) for place in range(4)) for number in range(_WHOLE + 1)]
    return [*SPECIAL, *letters[:_WHOLE], *(f"##{piece}" for piece in letters)][:VOCABULARY]


def write_model(shape: Shape, folder: Path) -> None:
    """Write a Hugging Face folder with random float32 weights and a WordPiece tokenizer."""
    folder.mkdir()
    config = {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "torch_dtype": "float32",
        "vocab_size": VOCABULARY,
        "hidden_size": shape.dim,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "intermediate_size": 4 * shape.dim,
        "max_position_embeddings": POSITIONS,
        "type_vocab_size": 2,
        "layer_norm_eps": 1e-12,
        "hidden_act": "gelu",
    }
    single = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    single.append({"SpecialToken": {"id": "[SEP]", "type_id": 0}})
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    tokenizer = {
        "version": "1.0",
        "added_tokens": [{"id": number, "content": name, **flags} for number, name in enumerate(SPECIAL)],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": single,
            "pair": [*single, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {name: {"id": name, "ids": [SPECIAL.index(name)], "tokens": [name]} for name in ("[CLS]", "[SEP]")},
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {piece: number for number, piece in enumerate(vocabulary())},
        },
    }
    names = {f"{name[1:4].lower()}_token": name for name in SPECIAL}
    pipeline = [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
    ]
    mean = {"word_embedding_dimension": shape.dim, "pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}
    (folder / "1_Pooling").mkdir()
    files: dict[str, Any] = {"config.json": config, "tokenizer.json": tokenizer, "modules.json": pipeline, "1_Pooling/config.json": mean}
    files["tokenizer_config.json"] = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": POSITIONS, **names}
    for name, value in files.items():
        (folder / name).write_text(json.dumps(value), encoding="utf-8")
    write_weights(shape, folder / "model.safetensors")


def write_weights(shape: Shape, file: Path) -> None:
    """Write the weights: eight bytes with the length of a JSON header, the header, and the numbers."""
    dim, norms = shape.dim, ["embeddings.LayerNorm"]
    shapes: dict[str, tuple[int, ...]] = {}
    for name, rows in (("word", VOCABULARY), ("position", POSITIONS), ("token_type", 2)):
        shapes[f"embeddings.{name}_embeddings.weight"] = (rows, dim)
    for layer in range(shape.layers):
        prefix = f"encoder.layer.{layer}"
        norms += [f"{prefix}.attention.output.LayerNorm", f"{prefix}.output.LayerNorm"]
        linear = {f"attention.{part}": (dim, dim) for part in ("self.query", "self.key", "self.value", "output.dense")}
        linear |= {"intermediate.dense": (4 * dim, dim), "output.dense": (dim, 4 * dim)}
        for name, (rows, columns) in linear.items():
            shapes |= {f"{prefix}.{name}.weight": (rows, columns), f"{prefix}.{name}.bias": (rows,)}
    shapes |= {f"{name}.{part}": (dim,) for name in norms for part in ("weight", "bias")}
    header: dict[str, Any] = {}
    end = 0
    for name, size in shapes.items():
        header[name] = {"dtype": "F32", "shape": size, "data_offsets": (end, end := end + 4 * int(np.prod(size)))}
    text = json.dumps(header).encode()
    numbers = np.random.default_rng(7)
    with file.open("wb") as out:
        out.write(len(text).to_bytes(8, "little") + text)
        for name, size in shapes.items():
            weights = numbers.standard_normal(size, dtype=np.float32) * np.float32(0.05)
            out.write((weights + np.float32(name.endswith("LayerNorm.weight"))).tobytes())


# What the parent does


class Replica:
    """One process with a model; after Failed it is dead, with all its children.

    Thread: one; a second only reads lines.
    """

    def __init__(self, plan: Mapping[str, Any], log: Path) -> None:
        """Start it; it imports its libraries at once."""
        self._log = log
        self._lines: queue.Queue[str | None] = queue.Queue()
        command = [sys.executable, "-P", __file__, "--replica"]  # -P: files beside this one must not shadow a library
        with log.open("w") as errors:
            self._process = subprocess.Popen(  # noqa: S603 - this file
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True
            )
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()
        with contextlib.suppress(OSError):  # it has ended: `wait` says why
            self.say(plan)

    def say(self, message: Mapping[str, Any]) -> None:
        """Send one line. Raises OSError if the process has ended."""
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def wait(self, limit_s: float) -> dict[str, Any]:
        """Return the next answer. Raises Failed."""
        try:
            line = self._lines.get(timeout=limit_s)
        except queue.Empty:
            self.end()
            raise Failed(f"no answer within {limit_s:.0f} s") from None
        if line is None:
            self.end()
            raise Failed(self._last_words())
        answer: dict[str, Any] = json.loads(line)
        return answer

    def ask(self, message: Mapping[str, Any], limit_s: float) -> dict[str, Any]:
        """Send a command and wait for its answer. Raises Failed."""
        with contextlib.suppress(OSError, ValueError):  # as in `__init__`
            self.say(message)
        return self.wait(limit_s)

    @property
    def alive(self) -> bool:
        """Return whether it runs."""
        return self._process.poll() is None

    def end(self) -> None:
        """Kill it and everything in its session; safe to call twice."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reading.join(END_S)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None and not self._reading.is_alive():
                with contextlib.suppress(OSError):  # unread output
                    pipe.close()

    def _read(self) -> None:
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _last_words(self) -> str:
        """Return its last error, which engines print long before the end, or else its last line."""
        lines = [line.strip() for line in self._log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
        errors = [line for line in lines if "Error: " in line]
        return (errors or lines or ["it ended without a word"])[0 if errors else -1][-300:]


class Row(NamedTuple):
    """One measurement, or the reason why there is none."""

    model: str
    tokens: int
    way: str
    replicas: int
    tokens_per_s: float | None = None
    tokens_per_s_worst: float | None = None
    share_of_peak: float | None = None
    vs_default: float | None = None
    min_cosine: float | None = None
    number_format: str | None = None
    failed: str | None = None


class Bench:
    """Measures every way on every shape; a failure costs only its own rows.

    Thread: main.
    """

    def __init__(self, chosen: argparse.Namespace, peak_tflops: float, scratch: Path) -> None:
        self.rows: list[Row] = []
        self._chosen = chosen
        self._peak_tflops = peak_tflops
        self._scratch = scratch
        self._samples: dict[tuple[str, int], Any] = {}
        self._started = 0

    def run(self, shape: Shape) -> None:
        """Measure the default alone, then the replicas."""
        write_model(shape, self._scratch / shape.name)
        self._way(shape, "default", [1])
        self._way(shape, "ids", sorted(self._chosen.replicas))

    def _way(self, shape: Shape, way: str, counts: list[int]) -> None:
        plan = {
            "way": way,
            "folder": str(self._scratch / shape.name),
            "cpu": self._chosen.cpu,
            "threads": max(len(os.sched_getaffinity(0)) // counts[-1], 1),
            "batch_tokens": self._chosen.batch_tokens,
            "share": MEMORY_SHARE / counts[-1],
        }
        running, failed = self._loaded(plan, counts[-1])
        try:
            for tokens in shape.tokens:
                for count in counts:
                    if count > len(running):
                        reason = failed or "fewer replicas are left"
                        self._add(Row(shape.name, tokens, way, count, failed=f"{len(running)} of {count} replicas: {reason}"))
                        continue
                    try:
                        self._add(self._measured(shape, tokens, way, [one for one, _ in running[:count]], running[0][1]))
                    except Failed as error:
                        failed = str(error)
                        self._add(Row(shape.name, tokens, way, count, failed=failed))
                        running = [(one, number_format) for one, number_format in running if one.alive]
        finally:
            for one, _ in running:
                one.end()

    def _loaded(self, plan: Mapping[str, Any], count: int) -> tuple[list[tuple[Replica, str]], str]:
        """Start all and load them one after another; return those that loaded, their number format, and the last failure."""
        started = []
        for _ in range(count):
            self._started += 1
            started.append(Replica(plan, self._scratch / f"{self._started}.log"))
        running, failed = [], ""
        for number, one in enumerate(started, start=1):
            try:
                one.wait(IMPORT_S)
                running.append((one, str(one.ask({"load": True}, LOAD_S)["loaded"])))
                progress(f"{plan['way']}: {number} of {count} loaded")
            except Failed as error:
                failed = str(error)
                progress(f"{plan['way']}: replica {number} failed: {failed}")
        return running, failed

    def _measured(self, shape: Shape, tokens: int, way: str, running: list[Replica], number_format: str) -> Row:
        """Warm all up, start them together, and return the rate over the time in which all worked. Raises Failed."""
        seconds = self._chosen.seconds
        texts = max(self._chosen.tokens_a_pass // tokens, SAMPLE)
        ready = answers(running, {"texts": texts, "tokens": tokens}, WARM_S)
        marks = [np.array(one["marks"]) for one in answers(running, {"seconds": seconds}, seconds + WARM_S)]
        begin, end = max(one[0, 0] for one in marks), min(one[-1, 0] for one in marks)
        if end <= begin:
            raise Failed("the replicas did not work at the same time")
        edges = np.linspace(begin, end, SLICES + 1)
        rates = sum(np.diff(np.interp(edges, one[:, 0], one[:, 1])) for one in marks) / np.diff(edges)
        rate = float(np.median(rates))
        sample = np.array([one["sample"] for one in ready])
        right = self._samples.setdefault((shape.name, tokens), sample[0])
        default = next((row.tokens_per_s for row in self.rows if row[:3] == (shape.name, tokens, "default")), None)
        return Row(
            *(shape.name, tokens, way, len(running), round(rate), round(float(rates.min()))),
            share_of_peak=round(rate * shape.flops_per_token(tokens) / self._peak_tflops / 1e12, 4) if self._peak_tflops else None,
            vs_default=round(rate / default, 2) if default else None,
            min_cosine=round(float((sample * right).sum(axis=-1).min()), 5),
            number_format=number_format.removeprefix("torch."),
        )

    def _add(self, row: Row) -> None:
        self.rows.append(row)
        progress(f"{row.model} {row.tokens} tokens, {row.way} x {row.replicas}: {row.failed or f'{row.tokens_per_s:,} tokens/s'}")


def answers(running: list[Replica], message: Mapping[str, Any], limit_s: float) -> list[dict[str, Any]]:
    """Send the same command to all, then collect every answer, even if one fails. Raises Failed."""
    for one in running:
        with contextlib.suppress(OSError, ValueError):  # it has ended: `wait` says why
            one.say(message)
    found, failed = [], ""
    end_s = time.monotonic() + limit_s
    for one in running:
        try:
            found.append(one.wait(max(end_s - time.monotonic(), 1.0)))
        except Failed as error:
            failed = str(error)
    if failed:
        raise Failed(failed)
    return found


def progress(line: str) -> None:
    """Report progress on standard error."""
    print(line, file=sys.stderr, flush=True)


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    yield "| model | tokens | way | replicas | tokens/s | worst slice | share of peak | times default | lowest cosine | format |"
    yield "|---|---:|---|---:|---:|---:|---:|---:|---:|---|"
    for row in rows:
        start = f"| {row.model} | {row.tokens} | {row.way} | {row.replicas} |"
        if row.failed is not None:
            yield f"{start} - | - | - | - | - | failed: {row.failed.replace('|', '/')} |"
            continue
        share = "-" if row.share_of_peak is None else f"{row.share_of_peak:.1%}"
        times = "-" if row.vs_default is None else f"{row.vs_default:.2f}"
        rates = f"{row.tokens_per_s:,} | {row.tokens_per_s_worst:,}"
        yield f"{start} {rates} | {share} | {times} | {row.min_cosine:.5f} | {row.number_format} |"


def card() -> dict[str, Any] | None:
    """Return the card, as another process sees it; None without a card, torch or vLLM."""
    asked = subprocess.run(  # noqa: S603 - this file
        [sys.executable, "-P", __file__, "--probe"], capture_output=True, text=True, timeout=IMPORT_S, check=False
    )
    lines = asked.stdout.strip().splitlines()
    return dict(json.loads(lines[-1])) if lines and not asked.returncode else None


def main() -> int:
    """Measure and print; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="1 and 4 replicas, 4 seconds each")
    parser.add_argument("--json", action="store_true", help="print one object of figures and nothing else")
    parser.add_argument("--replicas", type=int, nargs="+", help="how many share the card (1 2 4 8 16)")
    parser.add_argument("--seconds", type=float, help="of each measurement (10)")
    parser.add_argument("--batch-tokens", type=int, default=BATCH_TOKENS, help="tokens of a batch of ids (%(default)s)")
    for hidden in ("--cpu", "--replica", "--probe"):
        parser.add_argument(hidden, action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.replica or chosen.probe:
        (replica if chosen.replica else probe)()
        return 0
    found: dict[str, Any] | None = {"device": "CPU", "peak_tflops": 0.0, "peak_from": "unknown"} if chosen.cpu else card()
    if found is None:
        progress("needs an NVIDIA GPU, and vLLM and torch that can use it")
        return 2
    chosen.replicas = chosen.replicas or ([1, 4] if chosen.quick else [1, 2, 4, 8, 16])
    chosen.seconds = chosen.seconds or (4.0 if chosen.quick else 10.0)
    chosen.tokens_a_pass = 4096 if chosen.cpu else 262_144
    with tempfile.TemporaryDirectory(prefix="vectail-gpu-") as scratch:
        bench = Bench(chosen, found["peak_tflops"], Path(scratch))
        for shape in TINY if chosen.cpu else SHAPES:
            bench.run(shape)
    if chosen.json:
        print(json.dumps({**found, "rows": [row._asdict() for row in bench.rows]}))
    else:
        print(f"{found['device']}; peak {found['peak_tflops']} TFLOP/s ({found['peak_from']})", "", *table(bench.rows), sep="\n")
    return 0 if any(row.failed is None for row in bench.rows) else 1


if __name__ == "__main__":
    sys.exit(main())

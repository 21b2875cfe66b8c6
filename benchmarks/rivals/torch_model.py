"""The model as Transformers has it: a plain float32 loop, and an ONNX file made of it. The only file here that imports torch.

The loop is the reference where sentence-transformers is not installed.
"""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.rivals.own_process import EmbedTexts
from benchmarks.rivals.padded import open_padded

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch
    import transformers

_OPSET = 18


def set_threads(threads: int) -> None:
    """Let torch use so many threads in this process."""
    torch.set_num_threads(threads)


def open_transformers(folder: Path, threads: int) -> EmbedTexts:
    """Load the model in float32."""
    set_threads(threads)
    model = _model(folder)

    def hidden(ids: Any, mask: Any) -> Any:  # noqa: ANN401 - arrays in, array out
        with torch.inference_mode():
            return model(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask))[0].numpy()

    return open_padded(folder, hidden)


def export_onnx(folder: Path, file: Path) -> None:
    """Write the model as an ONNX file: ids and mask, int64[n, tokens], to float32[n, tokens, dim]."""

    class Hidden(torch.nn.Module):  # type: ignore[misc] # torch has no types here
        def __init__(self) -> None:
            super().__init__()
            self.model = _model(folder)

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:  # noqa: ANN401 - tensors
            return self.model(input_ids=input_ids, attention_mask=attention_mask)[0]

    ids = torch.from_numpy(np.full((2, 8), 5, dtype=np.int64))
    rows, tokens = torch.export.Dim("rows"), torch.export.Dim("tokens")
    export: Callable[..., Any] = torch.onnx.export
    export(
        Hidden().eval(),
        (ids, torch.ones_like(ids)),
        str(file),
        input_names=["input_ids", "attention_mask"],
        output_names=["hidden"],
        dynamic_shapes=({0: rows, 1: tokens}, {0: rows, 1: tokens}),
        opset_version=_OPSET,
        dynamo=True,
    )


def _model(folder: Path) -> Any:  # noqa: ANN401 - Transformers has no types here
    return transformers.AutoModel.from_pretrained(str(folder), dtype=torch.float32, attn_implementation="sdpa").eval()

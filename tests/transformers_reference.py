"""Vectors as Transformers computes them in float32, one text at a time: the opinion of a library that shares no code with ours."""

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from worker.embedding.model.vectors import TokenIds, Vectors


def transformers_vectors(folder: Path, texts: Sequence[TokenIds], *, pooling: str) -> Vectors:
    """Embed token ids with the model of a Hugging Face folder; rows have length 1. Needs torch and Transformers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch  # noqa: PLC0415 - may be absent
        from transformers import BertModel  # noqa: PLC0415 - as torch

        model = BertModel.from_pretrained(str(folder), add_pooling_layer=False, attn_implementation="eager").float().eval()
    rows = []
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # two cores, and operations this small: threads would only wait for each other
    with torch.no_grad():
        for ids in texts:
            hidden = model(torch.tensor([ids.tolist()]))[0][0].numpy()
            row = hidden[0] if pooling == "cls" else hidden.mean(axis=0)
            rows.append(row / np.linalg.norm(row))
    torch.set_num_threads(threads)
    return np.stack(rows).astype(np.float32)

"""Tokenizers of small models: a WordPiece of a hundred tokens, and a Unigram like XLM-R's."""

import json
from typing import Any

from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_WORDS = ("error", "failed", "port", "##ing", "##ed", "user", "disk", "full", "Error", "Disk")
VOCABULARY = (*SPECIAL, *"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", *_CHARACTERS, *(f"##{c}" for c in _CHARACTERS), *_WORDS)
_WORD_START = "\u2581"


def tokenizer_json(*, lowercase: bool = True) -> dict[str, Any]:
    """Make a tokenizer.json that pads and truncates, as many published ones do."""
    ids = {token: token_id for token_id, token in enumerate(VOCABULARY)}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    frame = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    frame.append({"SpecialToken": {"id": "[SEP]", "type_id": 0}})
    special = {token: {"id": token, "ids": [ids[token]], "tokens": [token]} for token in ("[CLS]", "[SEP]")}
    return {
        "version": "1.0",
        "truncation": {"max_length": 8, "strategy": "LongestFirst", "stride": 0, "direction": "Right"},
        "padding": {
            "strategy": {"Fixed": 16},
            "direction": "Right",
            "pad_to_multiple_of": None,
            "pad_id": 0,
            "pad_type_id": 0,
            "pad_token": "[PAD]",
        },
        "added_tokens": [{"id": ids[token], "content": token, **flags} for token in SPECIAL],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": lowercase,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "TemplateProcessing", "single": frame, "pair": frame, "special_tokens": special},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": ids,
        },
    }


def unigram_json() -> dict[str, Any]:
    """Make a tokenizer.json like XLM-R's: pieces with likelihoods, and `<s>` and `</s>` around a text."""
    frame = ("<s>", "<pad>", "</s>", "<unk>")
    pieces = [
        _WORD_START,
        *_CHARACTERS,
        *".:/=_-()[]",
        "er",
        "ing",
        "ed",
        *(_WORD_START + word for word in ("error", "disk", "to", "port")),
    ]
    scored = [*((token, 0.0) for token in frame), *((piece, -9.0 + len(piece)) for piece in pieces)]
    tokenizer = Tokenizer(models.Unigram(scored, unk_id=frame.index("<unk>"), byte_fallback=False))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in frame])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    parsed: dict[str, Any] = json.loads(tokenizer.to_str())
    return parsed

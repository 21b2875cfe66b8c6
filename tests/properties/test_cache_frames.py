"""Cache frames: any bytes decode to the vector that was put under this key, or to none."""

import hashlib
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sinks.row import Vector
from worker.embedding.cache.frame import FrameCodec, widened

DIM = 24
KEY = b"vectail:0123456789abcdef:00112233445566778899aabbccddeeff"
TRUE_FRONT = b"VT\x02\x01" + DIM.to_bytes(4, "little")
OTHER_KEY = KEY[:-1] + b"e"
UNIT = FrameCodec(DIM)


def unit_vector(seed: int, dim: int = DIM) -> Vector:
    vector = np.random.default_rng(seed).standard_normal(dim).astype(np.float32)
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


def frame_of(seed: int, key: bytes = KEY) -> bytes:
    frame = UNIT.encode([key], [unit_vector(seed)])[0]
    assert frame is not None
    return frame


def frame_of_dim(dim: int) -> bytes:
    (frame,) = FrameCodec(dim).encode([KEY], [unit_vector(1, dim)])
    assert frame is not None
    return frame


def sealed(header: bytes, vector: Vector) -> bytes:
    """Return a frame with a valid hash over any content, as a broken or newer worker might write."""
    front = header + vector.astype("<f2").tobytes()
    return front + hashlib.blake2b(KEY + front, digest_size=8).digest()


def decoded(value: bytes, key: bytes = KEY) -> Vector | None:
    return UNIT.decode([key], [value]).vectors[0]


def cosine(one: Vector, other: Vector) -> float:
    first, second = one.astype(np.float64), other.astype(np.float64)
    return float(first @ second / (np.linalg.norm(first) * np.linalg.norm(second)))


@given(st.integers(0, 2**32), st.sampled_from([1, 2, 24, 384, 1024]))
def test_what_comes_back_is_what_was_put_and_of_length_one(seed: int, dim: int) -> None:
    codec, vector = FrameCodec(dim), unit_vector(seed, dim)
    (frame,) = codec.encode([KEY], [vector])
    assert frame is not None
    assert len(frame) == codec.frame_bytes == 16 + 2 * dim
    (back,) = codec.decode([KEY], [frame]).vectors
    assert back is not None
    assert back.dtype == np.float32
    assert cosine(back, vector) >= 0.99999
    assert abs(float(np.linalg.norm(back.astype(np.float64))) - 1) < 1e-6


@given(st.binary(min_size=2 * DIM + 8, max_size=2 * DIM + 8))
def test_random_bytes_behind_a_true_header_are_no_vector(value: bytes) -> None:
    assert decoded(frame_of(1)[:8] + value) is None


@given(st.integers(0, 1000), st.lists(st.integers(0, 8 * (16 + 2 * DIM) - 1), min_size=1, max_size=12, unique=True))
def test_flipped_bits_are_no_vector(seed: int, bits: list[int]) -> None:
    frame = bytearray(frame_of(seed))
    for bit in bits:
        frame[bit // 8] ^= 1 << bit % 8
    assert decoded(bytes(frame)) is None


@given(st.integers(0, 1000), st.integers(0, 15 + 2 * DIM))
def test_a_truncated_frame_is_no_vector(seed: int, length: int) -> None:
    assert decoded(frame_of(seed)[:length]) is None


@given(st.integers(0, 1000), st.binary(min_size=1, max_size=40))
def test_an_extended_frame_is_no_vector(seed: int, more: bytes) -> None:
    assert decoded(frame_of(seed) + more) is None
    assert decoded(more + frame_of(seed)) is None


@given(st.permutations(range(8)))
def test_swapped_frames_are_no_vectors(order: list[int]) -> None:
    keys = [KEY[:-2] + b"%02d" % number for number in range(8)]
    frames = UNIT.encode(keys, [unit_vector(number) for number in range(8)])
    found = UNIT.decode(keys, [frames[number] for number in order])
    assert [vector is not None for vector in found.vectors] == [number == place for place, number in enumerate(order)]
    assert found.corrupt == sum(number != place for place, number in enumerate(order))


@given(st.lists(st.sampled_from(["good", "missing", "flipped", "short", "other key"]), max_size=60))
def test_among_many_each_is_judged_alone(states: list[str]) -> None:
    keys = [KEY[:-4] + b"%04d" % number for number in range(len(states))]
    vectors = [unit_vector(number) for number in range(len(states))]
    values: list[bytes | None] = []
    for state, key, frame in zip(states, keys, UNIT.encode(keys, vectors), strict=True):
        assert frame is not None
        value: bytes | None = frame
        if state == "missing":
            value = None
        elif state == "flipped":
            value = frame[:20] + bytes([frame[20] ^ 1]) + frame[21:]
        elif state == "short":
            value = frame[:-1]
        elif state == "other key":
            value = frame_of(1, OTHER_KEY + key)
        values.append(value)
    found = UNIT.decode(keys, values)
    for state, vector, back in zip(states, vectors, found.vectors, strict=True):
        assert (back is not None) == (state == "good")
        assert back is None or cosine(back, vector) >= 0.99999
    assert found.corrupt == len([state for state in states if state in ("flipped", "short", "other key")])


@pytest.mark.parametrize("front", [b"VU\x02\x01", b"VT\x01\x01", b"VT\x03\x01", b"VT\x02\x02"])
def test_a_frame_of_another_magic_version_or_format_is_no_vector(front: bytes) -> None:
    assert decoded(sealed(front + DIM.to_bytes(4, "little"), unit_vector(1))) is None
    assert decoded(sealed(TRUE_FRONT, unit_vector(1))) is not None


def test_a_frame_of_another_dimension_is_no_vector() -> None:
    assert decoded(frame_of_dim(2 * DIM)) is None
    assert decoded(sealed(b"VT\x02\x01" + (DIM + 1).to_bytes(4, "little"), unit_vector(1))) is None


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_neither_written_nor_read(wrong: float) -> None:
    vector = unit_vector(1)
    vector[3] = wrong
    assert UNIT.encode([KEY], [vector]) == [None]
    assert decoded(sealed(TRUE_FRONT, vector)) is None


@pytest.mark.parametrize("length", [0, 0.5, 0.995, 1.005, 7, 1e6])
def test_a_vector_of_another_length_than_1_is_neither_written_nor_read(length: float) -> None:
    vector = unit_vector(1) * np.float32(length)
    assert UNIT.encode([KEY], [vector]) == [None]
    with np.errstate(over="ignore"):
        assert decoded(sealed(TRUE_FRONT, vector)) is None


def test_every_number_that_float16_has_is_widened_exactly() -> None:
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    finite = np.isfinite(halves)
    wide = widened(halves.view(np.int16))
    assert wide[finite].tobytes() == halves[finite].astype(np.float32).tobytes()
    assert (np.abs(wide[~finite]) >= 65_536).all()


def test_vectors_of_another_dimension_are_our_fault() -> None:
    with pytest.raises(ValueError, match="not 24"):
        UNIT.encode([KEY], [unit_vector(1, DIM + 1)])


def test_frames_are_the_same_on_every_machine() -> None:
    (frame,) = FrameCodec(2).encode([b"key"], [np.array([0.6, 0.8], dtype=np.float32)])
    assert frame is not None
    assert frame == bytes.fromhex("5654020102000000cd38663a") + hashlib.blake2b(b"key" + frame[:-8], digest_size=8).digest()


def test_a_frame_of_somebody_who_does_not_know_the_secret_is_no_vector() -> None:
    signing, other = FrameCodec(DIM, "of any length, even of more than the sixty-four bytes that a key may have"), FrameCodec(DIM, "no")
    (signed,), (theirs,) = signing.encode([KEY], [unit_vector(1)]), other.encode([KEY], [unit_vector(1)])
    assert signing.decode([KEY], [signed]).vectors[0] is not None
    refused: list[tuple[FrameCodec, bytes | None]] = [(signing, frame_of(1)), (signing, theirs), (UNIT, signed), (other, signed)]
    for codec, frame in refused:
        found = codec.decode([KEY], [frame])
        assert (found.vectors, found.corrupt) == ([None], 1)


def test_a_thousand_pickles_are_not_opened() -> None:
    draw = random.Random(7)
    values: list[bytes | None] = [b"\x80\x05cos\nsystem\n(S'exit 1'\ntR." + draw.randbytes(draw.randrange(60)) for _ in range(1000)]
    found = UNIT.decode([KEY] * 1000, values)
    assert found.corrupt == 1000

"""What a model takes and gives: token ids in, vectors out."""

import numpy as np
from numpy.typing import NDArray

TokenIds = NDArray[np.int32]
"""int32[n]: one text's token ids, special tokens included."""


Vectors = NDArray[np.float32]
"""float32[n, dim]: one row a text, in the order of the texts."""


Vector = NDArray[np.float32]
"""float32[dim], of length 1."""

"""What differs from file to file within one read: looked up, row by row, by the path that Spark gives.

Everything is in one row, which Spark fetches once and whose values it hands to its tasks as constants: a struct of
arrays with one entry per file, and the positions that are dead in any file. These are a value of their own, for they
are looked at for every row, and Spark makes a new object whenever it takes an array out of a struct. Joining would cost
several times as much per row.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

_TRIES = 64
_FEW = 256
_CROWDED = 0.25
"""Where more of the positions than this are dead in some file, looking at all files at once does not pay."""


class Lookup:
    """Values that each file of a read has one of.

    Args:
        paths: The files, as Spark calls them; each once.
        value: SQL of the struct, once it is in scope.
        anywhere: SQL of the positions that are dead in any file, once they are in scope.
        path: SQL of the path of a row's file.
        row: SQL of the position of a row in its file.
    """

    def __init__(self, paths: Sequence[str], value: str, anywhere: str, path: str, row: str) -> None:
        self._value = value
        self._anywhere = anywhere
        self._path = path
        self._row = row
        self._arrays: dict[str, pa.Array[Any]] = {}
        self._crowd: pa.Array[Any] | None = None
        self._ordinal = "0"
        if len(paths) > 1:
            self._ordinal = self._find(paths)

    def table(self) -> pa.Table:
        """The one row that holds everything, its columns called as they are to be in scope."""
        import pyarrow as pa

        values: dict[str, pa.Array[Any]] = {}
        if self._arrays:
            fields = [pa.field(name, pa.list_(array.type)) for name, array in self._arrays.items()]
            values[self._value] = pa.StructArray.from_arrays(list(map(_as_one, self._arrays.values())), fields=fields)
        if self._crowd is not None:
            values[self._anywhere] = _as_one(self._crowd)
        return pa.table(values)

    def add(self, values: pa.Array[Any]) -> str:
        """Give each file a value; gives the SQL of the value of a row's file."""
        name = f"v{len(self._arrays)}"
        self._arrays[name] = values
        return f"get({self._value}.{name}, {self._ordinal})"

    def add_dead(self, dead: Sequence[NDArray[np.int64]], rows: Sequence[int]) -> str:
        """Give each file its dead rows; gives the SQL of whether a row is alive."""
        import numpy as np
        import pyarrow as pa

        words = [_bits(positions, count) for positions, count in zip(dead, rows, strict=True)]
        anywhere = np.zeros(max(map(len, words)), np.int64)
        for each in words:
            anywhere[: len(each)] |= each
        if len(words) == 1:
            self._crowd = pa.array(anywhere)
            return self._is_clear(self._anywhere)
        self._arrays["dead"] = pa.array(words, pa.list_(pa.int64()))
        precise = self._is_clear(f"get({self._value}.dead, {self._ordinal})")
        if int(np.bitwise_count(anywhere).sum()) > _CROWDED * max(rows):
            return precise
        # Most positions are dead in no file at all. Only for the others is it worth while to look which file it is.
        self._crowd = pa.array(anywhere)
        return f"CASE WHEN {self._is_clear(self._anywhere)} THEN TRUE ELSE {precise} END"

    def _is_clear(self, words: str) -> str:
        word = f"get({words}, CAST(shiftright({self._row}, 6) AS INT))"
        return f"(coalesce(shiftright({word}, CAST({self._row} & 63 AS INT)), 0) & 1) = 0"

    def _find(self, paths: Sequence[str]) -> str:
        """SQL of the place of a row's file among the paths; a file that is not among them stops the query."""
        import pyarrow as pa

        self._arrays["paths"] = pa.array(paths, pa.string())
        # Else a path that Spark spells in another way would bring dead rows back.
        fault = f"raise_error(concat('quacklake does not know the file that Spark calls ', {self._path}))"
        hashes = [zlib.crc32(path.encode()) for path in paths]
        slots = _place_apart(hashes)
        places = [f"crc32({self._path}) % {len(slots)}"]
        if not slots:
            size, slots = _place(hashes)
            places = [f"crc32({self._path}) % {size}", f"{size} + (crc32({self._path}) div {size}) % {size}"]
        if not slots:
            position = f"array_position({self._value}.paths, {self._path})"
            return f"CASE WHEN {position} > 0 THEN CAST({position} - 1 AS INT) ELSE CAST({fault} AS INT) END"
        self._arrays["slots"] = pa.array(slots, pa.int32())
        found = [f"get({self._value}.slots, CAST({place} AS INT))" for place in places]
        tests = " ".join(f"WHEN get({self._value}.paths, {place}) = {self._path} THEN {place}" for place in found)
        return f"CASE {tests} ELSE CAST({fault} AS INT) END"


def _as_one(values: pa.Array[Any]) -> pa.Array[Any]:
    import pyarrow as pa

    return pa.ListArray.from_arrays([0, len(values)], values)


def _bits(positions: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    """The positions as bits of 64-bit words."""
    import numpy as np

    known = positions[positions < rows]
    words = np.zeros(max(1, (rows + 63) // 64), np.uint64)
    np.bitwise_or.at(words, known >> 6, np.uint64(1) << (known & 63).astype(np.uint64))
    return words.view(np.int64)


def _place_apart(hashes: Sequence[int]) -> list[int]:
    """Give each hash one slot of its own, which keeps the code short that Spark runs; the slots hold places of hashes.

    Gives none when there are too many hashes: the slots that it takes grow with the square of their number.
    """
    if len(hashes) > _FEW:
        return []
    start = max(len(hashes), len(hashes) ** 2 // 4)
    for size in range(start, start + _TRIES * len(hashes), max(1, len(hashes) // 4)):
        if len({code % size for code in hashes}) == len(hashes):
            places = {code % size: place for place, code in enumerate(hashes)}
            # An empty slot may point anywhere: the path that is found there is compared.
            return [places.get(slot, 0) for slot in range(size)]
    return []


def _place(hashes: Sequence[int]) -> tuple[int, list[int]]:
    """Give each hash one of two slots (cuckoo hashing), in two tables of a size; the slots hold places of hashes.

    Gives no slots when three hashes are the same.
    """
    size = max(4, 2 * len(hashes))
    for _ in range(_TRIES):
        slots = _try_to_place(hashes, size)
        if slots is not None:
            return size, slots
        size = size * 5 // 4 + 1
    return size, []


def _try_to_place(hashes: Sequence[int], size: int) -> list[int] | None:
    slots: list[int | None] = [None] * (2 * size)
    for place in range(len(hashes)):
        moving, side = place, 0
        for _ in range(64):
            code = hashes[moving]
            slot = size + (code // size) % size if side else code % size
            moving, slots[slot] = slots[slot], moving  # type: ignore[assignment]
            if moving is None:
                break
            side = 1 - (slot >= size)
        else:
            return None
    # An empty slot may point anywhere: the path that is found there is compared.
    return [slot or 0 for slot in slots]

"""Random lives of a lake, the same for the same seed: one statement after another, as DuckDB would be told them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.differential.shapes import DEFAULTS, WIDER, Shape, any_shape


@dataclass(slots=True)
class RandomTable:
    """What the generator believes a table looks like."""

    name: str
    columns: dict[str, Shape]
    locked: set[str] = field(default_factory=set)
    """Columns that partitions or sort orders hold on to."""


class RandomLife:
    """A source of statements. `told` keeps its picture of the lake in step with what DuckDB accepted."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.tables: list[RandomTable] = []
        self._number = 0
        self._fresh = 0
        self._effect: list[tuple[RandomTable, str, str, Shape | None]] = []

    def next(self) -> list[str]:
        """The next statements; more than one make a transaction."""
        if len(self.tables) < 2 or (len(self.tables) < 4 and self.chance.random() < 0.03):
            return [self._create()]
        table = self.chance.choice(self.tables)
        acts: tuple[tuple[int, Callable[[], list[str]]], ...] = (
            (30, lambda: [self._insert(table)]),
            (12, lambda: [self._update(table)]),
            (12, lambda: [self._delete(table)]),
            (6, lambda: [self._merge(table)]),
            (14, lambda: [self._alter(table)]),
            (5, lambda: [self._partition(table)]),
            (2, lambda: [self._sort(table)]),
            (4, lambda: [self._option()]),
            (5, lambda: ["CALL ducklake_flush_inlined_data('$lake')"]),
            (5, lambda: ["CALL ducklake_merge_adjacent_files('$lake')"]),
            (
                4,
                lambda: [self._rewrite()],
            ),
            (2, lambda: [f"CALL ducklake_expire_snapshots('$lake', versions => [{self.chance.randint(1, 30)}])"]),
            (2, lambda: [self._rename(table)]),
            (1, lambda: [f"TRUNCATE {table.name}"]),
            (5, lambda: self._transaction(table)),
        )
        chosen = self.chance.choices([act for _, act in acts], [weight for weight, _ in acts])[0]
        return chosen()

    def told(self, accepted: bool) -> None:
        """Whether DuckDB took the statements of the last `next`."""
        effects, self._effect = self._effect, []
        for table, act, name, shape in effects if accepted else ():
            if act == "create":
                self.tables.append(table)
            elif act == "rename table":
                table.name = name
            elif act == "add":
                assert shape is not None
                table.columns[name] = shape
            elif act == "drop":
                del table.columns[name]
            elif act.startswith("rename "):
                table.columns = {name if each == act[7:] else each: kept for each, kept in table.columns.items()}
            elif act == "lock":
                table.locked.add(name)
            elif act == "unlock":
                table.locked.clear()

    def _name(self, prefix: str) -> str:
        self._fresh += 1
        return f"{prefix}{self._fresh}"

    def _create(self) -> str:
        columns = {"id": Shape("INTEGER", [])}
        columns.update({self._name("c"): any_shape(self.chance) for _ in range(self.chance.randint(1, 5))})
        table = RandomTable(self._name("t"), columns)
        self._effect.append((table, "create", "", None))
        return f"CREATE TABLE {table.name} ({', '.join(f'{name} {shape.sql}' for name, shape in columns.items())})"

    def _rows(self, table: RandomTable, count: int) -> str:
        start, self._number = self._number, self._number + count
        values = ["i::INTEGER"] + [shape.value(self.chance) for name, shape in table.columns.items() if name != "id"]
        return f"SELECT {', '.join(values)} FROM range({start}, {start + count}) r(i)"

    def _insert(self, table: RandomTable) -> str:
        names = ["id", *(name for name in table.columns if name != "id")]
        count = self.chance.choice((1, 2, 3, 5, 15, 25, 40))
        return f"INSERT INTO {table.name} ({', '.join(names)}) {self._rows(table, count)}"

    def _where(self) -> str:
        low = self.chance.randint(0, max(self._number, 1))
        return self.chance.choice(
            (
                f"id % {self.chance.randint(2, 9)} = 0",
                f"id BETWEEN {low} AND {low + self.chance.randint(0, 15)}",
                f"id = {low}",
                f"id >= {low}",
            )
        )

    def _update(self, table: RandomTable) -> str:
        name = self.chance.choice(list(table.columns))
        if name == "id":
            return f"UPDATE {table.name} SET id = id + 10000 WHERE {self._where()}"
        value = table.columns[name].value(self.chance)
        source = f"(SELECT {self.chance.randint(0, 99)}::BIGINT AS i)"
        return f"UPDATE {table.name} SET {name} = (SELECT {value} FROM {source}) WHERE {self._where()}"

    def _delete(self, table: RandomTable) -> str:
        return f"DELETE FROM {table.name} WHERE {self._where()}"

    def _merge(self, table: RandomTable) -> str:
        names = ["id", *(name for name in table.columns if name != "id")]
        again = self.chance.randint(0, max(self._number - 5, 0))
        values = ["i::INTEGER"] + [table.columns[name].value(self.chance) for name in names[1:]]
        named = ", ".join(f"{value} AS {name}" for name, value in zip(names, values, strict=True))
        source = f"SELECT {named} FROM range({again}, {again + 8}) r(i)"
        changed = self.chance.choice(names[1:] or names)
        matched = self.chance.choice((f"UPDATE SET {changed} = s.{changed}", "DELETE"))
        return (
            f"MERGE INTO {table.name} t USING ({source}) s ON t.id = s.id WHEN MATCHED THEN {matched} "
            f"WHEN NOT MATCHED THEN INSERT ({', '.join(names)}) VALUES ({', '.join(f's.{name}' for name in names)})"
        )

    def _transaction(self, table: RandomTable) -> list[str]:
        other = self.chance.choice(self.tables)
        acts = (self._insert, self._update, self._delete, self._merge)
        return [self.chance.choice(acts)(self.chance.choice((table, other))) for _ in range(self.chance.randint(2, 4))]

    def _rewrite(self) -> str:
        threshold = self.chance.choice((0, 0.2, 0.6))
        return f"CALL ducklake_rewrite_data_files('$lake', delete_threshold => {threshold})"

    def _rename(self, table: RandomTable) -> str:
        name = self._name("t")
        self._effect.append((table, "rename table", name, None))
        return f"ALTER TABLE {table.name} RENAME TO {name}"

    def _option(self) -> str:
        name, value = self.chance.choice(
            (
                ("data_inlining_row_limit", "0"),
                ("data_inlining_row_limit", "10"),
                ("write_deletion_vectors", "true"),
                ("write_deletion_vectors", "false"),
            )
        )
        return f"CALL $lake.set_option('{name}', {value})"

    def _free(self, table: RandomTable) -> list[str]:
        return [name for name in table.columns if name != "id" and name not in table.locked]

    def _alter(self, table: RandomTable) -> str:
        inside = [found for name, shape in table.columns.items() for found in shape.structs(name)]
        if inside and self.chance.random() < 0.5:
            return self._alter_inside(table, *self.chance.choice(inside))
        free, start = self._free(table), f"ALTER TABLE {table.name}"
        act = self.chance.choice(("add", "add", "drop", "rename", "widen"))
        if act == "add" or not free:
            name, shape = self._name("c"), any_shape(self.chance)
            self._effect.append((table, "add", name, shape))
            default = (
                f" DEFAULT {DEFAULTS[shape.kind]}" if shape.kind in DEFAULTS and self.chance.random() < 0.6 else ""
            )
            return f"{start} ADD COLUMN {name} {shape.sql}{default}"
        name = self.chance.choice(free)
        if act == "drop" and len(free) > 1:
            self._effect.append((table, "drop", name, None))
            return f"{start} DROP COLUMN {name}"
        widened = _widen(table.columns[name])
        if act == "widen" and widened is not None:
            self._effect.append((table, "add", name, widened))
            return f"{start} ALTER {name} SET DATA TYPE {widened.sql}"
        new = self._name("c")
        self._effect.append((table, f"rename {name}", new, None))
        return f"{start} RENAME COLUMN {name} TO {new}"

    def _alter_inside(self, table: RandomTable, path: str, struct: Shape) -> str:
        """Changes the picture at once: a struct's fields can always be changed so."""
        act, start = self.chance.choice(("add", "drop", "rename")), f"ALTER TABLE {table.name}"
        index = self.chance.randrange(len(struct.fields))
        name, shape = struct.fields[index]
        if act == "drop" and len(struct.fields) > 1:
            del struct.fields[index]
            return f"{start} DROP COLUMN {path}.{name}"
        new = self._name("f")
        if act == "rename":
            struct.fields[index] = (new, shape)
            return f"{start} RENAME COLUMN {path}.{name} TO {new}"
        added = any_shape(self.chance, depth=2)
        struct.fields.append((new, added))
        default = f" DEFAULT {DEFAULTS[added.kind]}" if added.kind in DEFAULTS and self.chance.random() < 0.5 else ""
        return f"{start} ADD COLUMN {path}.{new} {added.sql}{default}"

    def _partition(self, table: RandomTable) -> str:
        keys = [f"bucket({self.chance.randint(2, 5)}, id)"]
        for name, shape in table.columns.items():
            if shape.kind in ("VARCHAR", "BOOLEAN", "SMALLINT"):
                keys.append(name)
            elif shape.kind in ("DATE", "TIMESTAMP"):
                keys.append(f"{self.chance.choice(('year', 'month'))}({name})")
        if self.chance.random() < 0.3:
            self._effect.append((table, "unlock", "", None))
            return f"ALTER TABLE {table.name} RESET PARTITIONED BY"
        chosen = self.chance.sample(keys, min(len(keys), self.chance.randint(1, 2)))
        self._effect += [(table, "lock", name, None) for name in table.columns if any(name in key for key in chosen)]
        return f"ALTER TABLE {table.name} SET PARTITIONED BY ({', '.join(chosen)})"

    def _sort(self, table: RandomTable) -> str:
        name = self.chance.choice([name for name, shape in table.columns.items() if shape.is_scalar])
        self._effect.append((table, "lock", name, None))
        return f"ALTER TABLE {table.name} SET SORTED BY ({name} {self.chance.choice(('ASC', 'DESC'))})"


def _widen(shape: Shape) -> Shape | None:
    if shape.is_scalar:
        return Shape(WIDER[shape.kind], []) if shape.kind in WIDER else None
    inside = [_widen(each) for _, each in shape.fields]
    if not any(inside):
        return None
    return Shape(shape.kind, [(name, new or old) for (name, old), new in zip(shape.fields, inside, strict=True)])

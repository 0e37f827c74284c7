"""How a schema changes: columns come, go, get other names and wider types, at any depth. Pure.

Fields are named with dots: `address.zip`, `lines.element.price`, `prices.value.amount`. Ids of columns are never
used again, so the caller says which one is free next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from quacklake.errors import AlreadyExistsError, InvalidInputError, NotFoundError
from quacklake.names import fold, split
from quacklake.promotions import can_promote
from quacklake.schema import Column, Schema
from quacklake.types import DataType, ListOf, MapOf, Struct, children, is_nested

Path = tuple[str, ...]


def parse_path(text: str) -> Path:
    """Split the name of a column or nested field."""
    return tuple(split(text))


def find_field(schema: Schema, path: Path) -> Column:
    """The column or field at a path.

    Raises:
        NotFoundError: When a part of the path is not there; the hint lists what is.
    """
    column = schema.column(path[0])
    for depth, name in enumerate(path[1:], start=1):
        column = _child(column, name, ".".join(path[:depth]))
    return column


def _child(column: Column, name: str, parent: str) -> Column:
    below = children(column.type)
    found = next((each for each in below if fold(each.name) == fold(name)), None)
    if found is None:
        known = f"it has {', '.join(each.name for each in below)}" if below else f"it is a {column.type}"
        raise NotFoundError(f"there is no field {name!r} in {parent}", hint=known)
    return found


def number(columns: Sequence[Column], first: int) -> tuple[tuple[Column, ...], int]:
    """The columns with ids of their own, parents before children, and the id that is free next."""
    done = []
    for column in columns:
        below, following = number(children(column.type), first + 1)
        done.append(replace(column, id=first, type=_with_children(column.type, below)))
        first = following
    return tuple(done), first


def add_field(schema: Schema, path: Path, column: Column, next_id: int) -> tuple[Schema, int]:
    """Put a column at the end of the table, or a field at the end of a struct; gives the next free id back."""
    (numbered,), following = number([column], next_id)
    if len(path) == 1:
        _refuse_taken(path[0], schema.columns, "the table")
        return Schema((*schema.columns, numbered)), following

    def put(parent: Column) -> Column:
        if not isinstance(parent.type, Struct):
            raise InvalidInputError(
                f"{'.'.join(path[:-1])} is a {parent.type}: a field can only be added to a struct",
                hint="name the struct inside a list with .element, inside a map with .value",
            )
        _refuse_taken(path[-1], parent.type.fields, ".".join(path[:-1]))
        return replace(parent, type=Struct((*parent.type.fields, numbered)))

    return _change(schema, path[:-1], put), following


def drop_field(schema: Schema, path: Path) -> Schema:
    """Take a column or a field of a struct away."""
    gone = find_field(schema, path)
    if len(path) == 1:
        if len(schema) == 1:
            raise InvalidInputError(f"{gone.name} is the only column of the table", hint="drop the table instead")
        return Schema(tuple(each for each in schema if each.id != gone.id))

    def take(parent: Column) -> Column:
        if not isinstance(parent.type, Struct):
            raise InvalidInputError(f"{'.'.join(path)} is a part of a {parent.type} and cannot be dropped from it")
        if len(parent.type.fields) == 1:
            raise InvalidInputError(
                f"{'.'.join(path)} is the only field of its struct", hint=f"drop {'.'.join(path[:-1])} instead"
            )
        return replace(parent, type=Struct(tuple(each for each in parent.type.fields if each.id != gone.id)))

    return _change(schema, path[:-1], take)


def rename_field(schema: Schema, path: Path, name: str) -> Schema:
    """Give a column or a field of a struct another name."""
    target = find_field(schema, path)
    if len(path) == 1:
        siblings: Sequence[Column] = schema.columns
    else:
        parent = find_field(schema, path[:-1])
        if not isinstance(parent.type, Struct):
            raise InvalidInputError(f"{'.'.join(path)} is a part of a {parent.type} and has no name of its own")
        siblings = parent.type.fields
    _refuse_taken(name, [each for each in siblings if each.id != target.id], ".".join(path[:-1]) or "the table")
    return _change(schema, path, lambda column: replace(column, name=name))


def retype_field(schema: Schema, path: Path, type_: DataType, next_id: int) -> tuple[Schema, int]:
    """Change a type. Nested types are compared by the names of their fields: new ones are added, missing ones go.

    Raises:
        InvalidInputError: When some value of the old type could not be one of the new.
    """
    following = next_id

    def change(column: Column) -> Column:
        nonlocal following
        changed, following = _retype(column, type_, following, ".".join(path))
        return changed

    return _change(schema, path, change), following


def change_field(schema: Schema, path: Path, change: Callable[[Column], Column]) -> Schema:
    """Replace one column or field by what `change` makes of it."""
    find_field(schema, path)
    return _change(schema, path, change)


def _change(schema: Schema, path: Path, change: Callable[[Column], Column]) -> Schema:
    top = schema.column(path[0])
    done = _descend(top, path, 1, change)
    return Schema(tuple(done if each.id == top.id else each for each in schema))


def _descend(column: Column, path: Path, depth: int, change: Callable[[Column], Column]) -> Column:
    if depth == len(path):
        return change(column)
    target = _child(column, path[depth], ".".join(path[:depth]))
    done = _descend(target, path, depth + 1, change)
    below = tuple(done if each.id == target.id else each for each in children(column.type))
    return replace(column, type=_with_children(column.type, below))


def _with_children(type_: DataType, below: Sequence[Column]) -> DataType:
    match type_:
        case Struct():
            return Struct(tuple(below))
        case ListOf():
            return ListOf(below[0])
        case MapOf():
            return MapOf(below[0], below[1])
        case _:
            return type_


def _retype(column: Column, type_: DataType, next_id: int, path: str) -> tuple[Column, int]:
    old = column.type
    if not is_nested(old) and not is_nested(type_):
        if not can_promote(old, type_):
            raise InvalidInputError(
                f"{path} is {old} and cannot become {type_}: some values would not survive",
                hint="add a column of the new type and fill it with a cast",
            )
        return replace(column, type=type_), next_id
    if type(old) is not type(type_):
        raise InvalidInputError(f"{path} is {old} and cannot become {type_}", hint="add a column of the new type")
    if isinstance(old, Struct) and isinstance(type_, Struct):
        fields, following = _retype_struct(old, type_, next_id, path)
        return replace(column, type=Struct(fields)), following
    below = []
    for mine, wanted in zip(children(old), children(type_), strict=True):
        changed, next_id = _retype(mine, wanted.type, next_id, f"{path}.{mine.name}")
        below.append(changed)
    return replace(column, type=_with_children(old, below)), next_id


def _retype_struct(old: Struct, new: Struct, next_id: int, path: str) -> tuple[tuple[Column, ...], int]:
    fields = []
    known = {fold(each.name): each for each in old.fields}
    refuse_duplicates(new.fields, path)
    if not any(fold(each.name) in known for each in new.fields):
        raise InvalidInputError(f"{path} would keep none of its fields", hint="drop it and add another column")
    for wanted in new.fields:
        mine = known.get(fold(wanted.name))
        if mine is None:
            (changed,), next_id = number([wanted], next_id)
        else:
            changed, next_id = _retype(mine, wanted.type, next_id, f"{path}.{mine.name}")
        fields.append(changed)
    # The order of fields is the order of their ids: what is kept stays in its place, what is new comes last.
    return tuple(sorted(fields, key=lambda each: each.id)), next_id


def refuse_duplicates(columns: Sequence[Column], where: str) -> None:
    """Refuse two columns, or two fields of a struct at any depth, whose names differ in nothing but case."""
    seen: set[str] = set()
    for column in columns:
        if fold(column.name) in seen:
            raise InvalidInputError(f"{where} has two columns named {column.name!r}", hint="names ignore case")
        seen.add(fold(column.name))
        refuse_duplicates(children(column.type), f"{where}.{column.name}")


def _refuse_taken(name: str, siblings: Sequence[Column], where: str) -> None:
    if any(fold(each.name) == fold(name) for each in siblings):
        raise AlreadyExistsError(f"{where} already has a column {name!r}", hint="names ignore case")

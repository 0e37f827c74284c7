"""The source as the shape tests see it: modules, what they import, and where."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "quacklake"


@dataclass(frozen=True)
class Import:
    """One import statement's worth of knowledge: this module knows that one."""

    module: str
    """Dotted and whole: `quacklake.plan.scan`, `pyarrow.parquet`."""
    line: int
    type_only: bool
    """Under `if TYPE_CHECKING:`."""
    lazy: bool
    """Inside a function: it runs when the function does."""

    @property
    def top(self) -> str:
        return self.module.partition(".")[0]


@dataclass(frozen=True)
class Module:
    path: Path
    name: str
    """Below the package: `plan.scan`; `__init__` for the package itself."""

    @property
    def text(self) -> str:
        return self.path.read_text()

    @property
    def tree(self) -> ast.Module:
        return _parse(self.path)

    def imports(self) -> Iterator[Import]:
        yield from _imports(self.tree, type_only=False, lazy=False)

    def __str__(self) -> str:
        return str(self.path.relative_to(ROOT))


@cache
def _parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), filename=str(path))


@cache
def modules() -> tuple[Module, ...]:
    """Every module of the package."""
    return tuple(Module(path, _name(path)) for path in sorted(SOURCE.rglob("*.py")))


def _name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def _imports(node: ast.AST, *, type_only: bool, lazy: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (Import(alias.name, child.lineno, type_only, lazy) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            yield from (Import(name, child.lineno, type_only, lazy) for name in _targets(child))
        elif isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            for inner in child.body:
                yield from _imports(ast.Module([inner], []), type_only=True, lazy=lazy)
            for inner in child.orelse:
                yield from _imports(ast.Module([inner], []), type_only=type_only, lazy=lazy)
        else:
            inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from _imports(child, type_only=type_only, lazy=lazy or inside)


def _targets(node: ast.ImportFrom) -> Iterator[str]:
    assert node.module is not None, "relative imports are not used"
    for alias in node.names:
        if (node.module, alias.name) == ("quacklake", "__version__"):
            continue  # who we are is everybody's to know
        # `from quacklake.plan import scan` imports a module, `from quacklake.errors import X` a name in one.
        inner = SOURCE.parent.joinpath(*node.module.split("."), alias.name)
        is_module = inner.with_suffix(".py").is_file() or (inner / "__init__.py").is_file()
        yield f"{node.module}.{alias.name}" if is_module else node.module

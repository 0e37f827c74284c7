"""A SELECT that an engine runs: text in the engine's own dialect, in which every table is a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from quacklake.plan.changes import ChangePlan
from quacklake.plan.scan import ScanPlan

if TYPE_CHECKING:
    import pyarrow as pa

Arguments = Mapping[str, Any] | Sequence[Any]
"""Values for `:name`, or for `?` in order."""


@dataclass(frozen=True, slots=True)
class Query:
    """A SELECT with all that it reads."""

    text: str
    sources: Mapping[str, ScanPlan | ChangePlan | Query | pa.Table] = field(default_factory=dict)
    """By the word that stands for it in the text; no other part of the text has that word."""
    columns: tuple[str, ...] = ()
    """Other names for the columns of a view, as many as there are."""
    arguments: Arguments = ()

    def plans(self) -> list[ScanPlan]:
        """Every plan that it reads, those of views as well."""
        found: list[ScanPlan] = []
        for source in self.sources.values():
            if isinstance(source, ScanPlan):
                found.append(source)
            elif isinstance(source, Query):
                found.extend(source.plans())
        return found

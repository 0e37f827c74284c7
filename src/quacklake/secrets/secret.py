"""Secrets and what they say, never shown: neither printed nor in an error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from quacklake.secrets.kinds import Kind, bucket_of, container_of, kind_of

HIDDEN = "***"
_SHOWN = frozenset(
    """account_name allow_http allow_invalid_certificates base_url connect_timeout endpoint path_style proxy_url region
    skip_signature timeout""".split()
)
"""Settings that may be seen. Whatever is not named here is hidden, so that a new setting is a hidden one."""
_SHORTEST = 4
"""Shorter values than this are words like any other: taking them out of a text would only make it unreadable."""


@dataclass(frozen=True, slots=True, repr=False)
class Settings:
    """Settings by name. They print without values that are nobody's business."""

    kind: Kind
    values: tuple[tuple[str, str], ...] = ()

    def get(self, name: str) -> str | None:
        """The value of a setting; None when nobody gave it."""
        return next((value for each, value in self.values if each == name), None)

    def is_on(self, name: str) -> bool:
        """Whether a setting is there and true."""
        return self.get(name) == "true"

    def shown(self) -> dict[str, str]:
        """The settings with hidden values."""
        return {name: _plain(value) if name in _SHOWN else HIDDEN for name, value in self.values}

    def hidden(self) -> tuple[str, ...]:
        """The values that must not be seen."""
        return tuple(value for name, value in self.values if name not in _SHOWN)

    def __repr__(self) -> str:
        return f"Settings({self.kind}, {self.shown()})"


@dataclass(frozen=True, slots=True)
class Secret:
    """What opens the stores of one kind, or one bucket of them."""

    name: str
    kind: Kind
    bucket: str | None
    """The bucket it is for; None for every store of the kind."""
    settings: Settings

    def opens(self, url: str) -> bool:
        """Whether the secret is meant for a URL."""
        if kind_of(url) != self.kind:
            return False
        return self.bucket is None or self._same_bucket(url)

    def _same_bucket(self, url: str) -> bool:
        if self.kind != "azure" or self.bucket is None:
            return bucket_of(url) == self.bucket
        # `az://container` leaves out what `abfss://container@account…` says.
        mine, theirs = container_of(f"az://{self.bucket}"), container_of(url)
        return mine[0] == theirs[0] and (None in (mine[1], theirs[1]) or mine[1] == theirs[1])


@dataclass(frozen=True, slots=True)
class SecretInfo:
    """What there is to see of a secret."""

    name: str
    type: Kind
    scope: str | None
    """The bucket it is for, as a URL; None for every store of the type."""
    settings: Mapping[str, str]
    """The settings that it has; the values of most are hidden."""


def redact(text: str, values: Iterable[str]) -> str:
    """The text without the values, however they are written in a URL."""
    spellings = {each for value in values if len(value) >= _SHORTEST for each in (value, quote(value, safe=""))}
    # The longest first: a key may be part of another.
    for each in sorted(spellings, key=len, reverse=True):
        text = text.replace(each, HIDDEN)
    return text


def _plain(value: str) -> str:
    """An address without the name and the password that may be in it."""
    if "://" not in value:
        return value
    parts = urlsplit(value)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}"

"""Settings as obstore takes them, and Polars, which is made of the same library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from quacklake.secrets.kinds import Kind
from quacklake.secrets.secret import Settings
from quacklake.secrets.spelling import CLIENT_SETTINGS

_PREFIXES: dict[Kind, str] = {"s3": "aws_", "gcs": "google_", "azure": "azure_storage_"}
_PREFIXED: dict[Kind, frozenset[str]] = {
    "s3": frozenset("access_key_id secret_access_key session_token region endpoint skip_signature".split()),
    "gcs": frozenset("service_account service_account_key application_credentials base_url".split()),
    "azure": frozenset("account_name account_key client_id client_secret tenant_id sas_key token endpoint".split()),
}
"""Names that both libraries know best with the name of their provider in front."""


@dataclass(frozen=True, slots=True)
class ObstoreConfig:
    """What a store is opened with. It is not shown when printed."""

    store: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Whose it is and where."""
    client: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """How its HTTP client behaves."""
    keys: Mapping[str, str | None] | None = field(default=None, repr=False)
    """Keys of S3 that never change. Handed over apart: beside them both libraries would use a session token that they
    find in the environment, and be refused."""


def obstore_config(settings: Settings) -> ObstoreConfig:
    """The settings by obstore's names."""
    store: dict[str, str] = {}
    client: dict[str, Any] = {}
    for name, value in settings.values:
        if name in CLIENT_SETTINGS:
            client[name] = {"true": True, "false": False}.get(value, value)
        elif name == "path_style":
            store["aws_virtual_hosted_style_request"] = "false" if value == "true" else "true"
        else:
            prefix = _PREFIXES[settings.kind] if name in _PREFIXED[settings.kind] else ""
            store[prefix + name] = value
    keys = None
    if "aws_access_key_id" in store and "aws_secret_access_key" in store:
        keys = {
            "access_key_id": store.pop("aws_access_key_id"),
            "secret_access_key": store.pop("aws_secret_access_key"),
            "token": store.pop("aws_session_token", None),
        }
    return ObstoreConfig(store, client, keys)


def polars_options(settings: Settings) -> dict[str, str]:
    """The settings as Polars takes them: all in one, and every value a text."""
    config = obstore_config(settings)
    client = {name: str(value).lower() if isinstance(value, bool) else value for name, value in config.client.items()}
    return {**config.store, **client}

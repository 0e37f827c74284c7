"""What people call the settings of object stores, and the one name that each of them has here.

The names are those of obstore, which are those of the providers' own variables in lower case and without their prefix.
`fs.s3a.access.key`, `AWS_ACCESS_KEY_ID`, `access_key` and DuckDB's `KEY_ID` are all `access_key_id`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from quacklake.errors import InvalidInputError
from quacklake.secrets.kinds import KINDS, Kind

_CLIENT = """allow_http allow_invalid_certificates connect_timeout default_content_type http1_only
    http2_keep_alive_interval http2_keep_alive_timeout http2_only pool_idle_timeout pool_max_idle_per_host proxy_url
    timeout user_agent"""
CLIENT_SETTINGS = frozenset(_CLIENT.split())
"""Settings of the HTTP client, whatever the store."""

_PREFIXES: dict[Kind, tuple[str, ...]] = {
    "s3": ("aws_", "s3_"),
    "gcs": ("google_", "gcs_"),
    "azure": ("azure_storage_", "azure_"),
}
_PLAIN: dict[Kind, str] = {
    "s3": """checksum_algorithm conditional_put container_credentials_relative_uri container_credentials_full_uri
        container_authorization_token_file copy_if_not_exists disable_tagging disable_bulk_delete imdsv1_fallback
        metadata_endpoint s3_express sse_customer_key_base64
        request_payer role_arn role_session_name server_side_encryption sse_bucket_key_enabled sse_kms_key_id
        sts_endpoint unsigned_payload web_identity_token_file""",
    "gcs": "",
    "azure": """authority_host credential_type disable_tagging encryption_key fabric_cluster_identifier
        fabric_session_token fabric_token_service_url fabric_workload_host federated_token_file msi_endpoint
        msi_resource_id object_id use_azure_cli use_emulator use_fabric_endpoint""",
}
"""Settings that have one name and no others."""

_OTHERS: dict[Kind, dict[str, str]] = {
    "s3": {
        "access_key_id": "access_key key_id key fs_s3a_access_key",
        "secret_access_key": "secret_key secret fs_s3a_secret_key",
        "session_token": "token fs_s3a_session_token",
        "region": "default_region region_name fs_s3a_endpoint_region",
        "endpoint": "endpoint_url endpoint_url_s3 fs_s3a_endpoint",
        "path_style": "path_style_access force_path_style fs_s3a_path_style_access",
        "virtual_hosted_style_request": "",
        "url_style": "",
        "use_ssl": "ssl fs_s3a_connection_ssl_enabled",
        "skip_signature": "anonymous anon",
    },
    "gcs": {
        "service_account": "service_account_path keyfile key_file fs_gs_auth_service_account_json_keyfile",
        "service_account_key": "json_key",
        "application_credentials": "",
        "bearer_token": "token access_token",
        "base_url": "endpoint endpoint_url fs_gs_storage_root_url",
        "skip_signature": "anonymous anon",
    },
    "azure": {
        "account_name": "account",
        "account_key": "access_key master_key key",
        "client_id": "",
        "client_secret": "secret",
        "tenant_id": "authority_id",
        "sas_key": "sas_token sas",
        "token": "bearer_token access_token",
        "endpoint": "endpoint_url",
        "skip_signature": "anonymous anon",
    },
}
"""Settings with the other names that they have."""


def _table(kind: Kind) -> dict[str, str]:
    names = {each: each for each in (*_PLAIN[kind].split(), *_CLIENT.split())}
    for name, others in _OTHERS[kind].items():
        names.update(dict.fromkeys((name, *others.split()), name))
    longer = {prefix + name: meant for prefix in _PREFIXES[kind] for name, meant in names.items()}
    # `s3_access_key` is meant like `aws_access_key`; nobody writes `s3_fs_s3a_…`, and nobody is hurt by it.
    return {**longer, **names}


_TABLES: dict[Kind, dict[str, str]] = {kind: _table(kind) for kind in KINDS}


def read_settings(kind: Kind, given: Mapping[str, object]) -> dict[str, str]:
    """Settings of one kind of store by the names that they have here.

    Raises:
        InvalidInputError: For a name that the kind has no setting for, or a value that makes no sense.
    """
    known = {name: meaning(kind, name) for name in given}
    for name, meant in known.items():
        if meant is None:
            raise _unknown(name, (kind,))
    return _tidy({str(meant): _text(given[name]) for name, meant in known.items()})


def read_options(given: Mapping[str, object]) -> dict[Kind, dict[str, str]]:
    """Settings for stores of any kind: each goes to the kinds that have a setting of that name.

    Raises:
        InvalidInputError: For a name that no kind has a setting for, or a value that makes no sense.
    """
    for name in given:
        if not any(meaning(kind, name) for kind in KINDS):
            raise _unknown(name, KINDS)
    return {kind: read_settings(kind, {n: v for n, v in given.items() if meaning(kind, n)}) for kind in KINDS}


def meaning(kind: Kind, name: str) -> str | None:
    """The name that a setting has here; None when the kind has no such setting."""
    plain = re.sub(r"[.\-\s]", "_", name.lower()).removeprefix("spark_hadoop_")
    return _TABLES[kind].get(plain)


def _unknown(name: str, kinds: Iterable[Kind]) -> InvalidInputError:
    tables = {spelling for kind in kinds for spelling in _TABLES[kind]}
    near = get_close_matches(name.lower(), sorted(tables), n=3, cutoff=0.6)
    where = " or ".join(kinds)
    hint = f"did you mean {', '.join(near)}?" if near else "docs/object_stores.md has the names"
    return InvalidInputError(f"there is no setting {name!r} for {where}", hint=hint)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def flag(value: str, name: str) -> bool:
    """The value of a setting that is on or off.

    Raises:
        InvalidInputError: When it is neither.
    """
    if value.lower() in ("true", "1", "yes", "on"):
        return True
    if value.lower() in ("false", "0", "no", "off"):
        return False
    raise InvalidInputError(f"{name} is neither true nor false")


def _tidy(settings: dict[str, str]) -> dict[str, str]:
    """What is said in several ways, said in one."""
    if "url_style" in settings:
        settings["path_style"] = str(settings.pop("url_style").lower() == "path").lower()
    if "virtual_hosted_style_request" in settings:
        virtual = flag(settings.pop("virtual_hosted_style_request"), "virtual_hosted_style_request")
        settings.setdefault("path_style", str(not virtual).lower())
    ssl = flag(settings.pop("use_ssl", "true"), "use_ssl")
    endpoint = settings.get("endpoint", "")
    if endpoint and "://" not in endpoint:
        settings["endpoint"] = endpoint = f"{'https' if ssl else 'http'}://{endpoint}"
    if endpoint.startswith("http://") or settings.get("base_url", "").startswith("http://"):
        # Whoever writes http:// means it.
        settings.setdefault("allow_http", "true")
    for name in ("path_style", "skip_signature", "allow_http"):
        if name in settings:
            settings[name] = str(flag(settings[name], name)).lower()
    return settings

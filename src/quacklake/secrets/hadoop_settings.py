"""Settings as Hadoop's connectors take them: S3A, Google's for GCS, ABFS."""

from __future__ import annotations

import json
from collections.abc import Mapping

from quacklake.errors import InvalidInputError
from quacklake.secrets.kinds import bucket_of, container_of
from quacklake.secrets.secret import Settings

_S3 = {
    "access_key_id": "access.key",
    "secret_access_key": "secret.key",
    "session_token": "session.token",
    "region": "endpoint.region",
    "endpoint": "endpoint",
    "sse_kms_key_id": "encryption.key",
    "connect_timeout": "connection.establish.timeout",
    "timeout": "connection.request.timeout",
}
_ENCRYPTION = {"AES256": "SSE-S3", "aws:kms": "SSE-KMS", "aws:kms:dsse": "DSSE-KMS", "sse-c": "SSE-C"}
_PROVIDERS = "org.apache.hadoop.fs.s3a."
_AZURE_HOST = "dfs.core.windows.net"
_FABRIC_HOST = "onelake.dfs.fabric.microsoft.com"
_AZURE_LOGIN = "https://login.microsoftonline.com"


def hadoop_settings(url: str, settings: Settings) -> dict[str, str]:
    """The settings for the bucket that a URL names, as the options of a read or a write take them.

    Empty when there is nothing that Hadoop would have to know: Spark's own settings hold then.

    Args:
        url: A file or a folder, as the lake calls it.
        settings: What it is opened with.
    """
    if settings.kind == "s3":
        return _s3(bucket_of(url), settings)
    return _gcs(settings) if settings.kind == "gcs" else _azure(url, settings)


def _s3(bucket: str, settings: Settings) -> dict[str, str]:
    found = {_S3[name]: value for name, value in settings.values if name in _S3}
    endpoint = settings.get("endpoint")
    if endpoint is not None:
        # A store that is not Amazon's seldom has a name for each bucket.
        found["path.style.access"] = settings.get("path_style") or "true"
        found["connection.ssl.enabled"] = str(not endpoint.startswith("http://")).lower()
        # Else it asks Amazon where the bucket is.
        found.setdefault("endpoint.region", "us-east-1")
    elif settings.is_on("path_style"):
        found["path.style.access"] = "true"
    if (provider := _s3_provider(settings)) is not None:
        found["aws.credentials.provider"] = _PROVIDERS + provider
    if (cipher := settings.get("server_side_encryption")) is not None:
        found["encryption.algorithm"] = _ENCRYPTION.get(cipher, cipher)
    if settings.get("request_payer") in ("true", "requester", "REQUESTER"):
        found["requester.pays.enabled"] = "true"
    if not {"endpoint", "aws.credentials.provider", "encryption.algorithm", "requester.pays.enabled"} & found.keys():
        # A region alone, which many machines have in their environment, is no reason to turn Spark's settings down.
        return {}
    # Those of a bucket come before those of all buckets, which the user's session may have.
    return {f"fs.s3a.bucket.{bucket}.{name}": value for name, value in found.items()}


def _s3_provider(settings: Settings) -> str | None:
    if settings.is_on("skip_signature"):
        return "AnonymousAWSCredentialsProvider"
    if settings.get("access_key_id") is None or settings.get("secret_access_key") is None:
        return None
    return (
        "SimpleAWSCredentialsProvider" if settings.get("session_token") is None else "TemporaryAWSCredentialsProvider"
    )


def _gcs(settings: Settings) -> dict[str, str]:
    found: dict[str, str] = {}
    path = settings.get("service_account") or settings.get("application_credentials")
    if settings.is_on("skip_signature"):
        found = {
            "fs.gs.auth.type": "UNAUTHENTICATED",
            "fs.gs.auth.service.account.enable": "false",
            "fs.gs.auth.null.enable": "true",
        }
    elif (text := settings.get("service_account_key")) is not None:
        found = _gcs_key(text)
    elif path is not None:
        found = {
            "fs.gs.auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE",
            "fs.gs.auth.service.account.enable": "true",
            "fs.gs.auth.service.account.json.keyfile": path,
        }
    if (base := settings.get("base_url")) is not None:
        found["fs.gs.storage.root.url"] = base.rstrip("/") + "/"
    return found


def _gcs_key(text: str) -> dict[str, str]:
    try:
        key: Mapping[str, str] = json.loads(text)
        return {
            "fs.gs.auth.service.account.enable": "true",
            "fs.gs.auth.service.account.email": key["client_email"],
            "fs.gs.auth.service.account.private.key.id": key["private_key_id"],
            "fs.gs.auth.service.account.private.key": key["private_key"],
        }
    except (ValueError, KeyError, TypeError):
        # What exactly is wrong would show the key.
        raise InvalidInputError("service_account_key is not the key of a service account, as JSON") from None


def azure_host(url: str, settings: Settings) -> str:
    """The host of the account that a container is in.

    Raises:
        InvalidInputError: When neither the URL nor the settings say which account it is.
    """
    host = container_of(url)[1]
    if host is not None:
        return host
    if settings.is_on("use_fabric_endpoint"):
        return _FABRIC_HOST
    account = settings.get("account_name")
    if account is None:
        raise InvalidInputError(
            f"{url} does not say in which account of Azure it is",
            hint="give account_name, or write abfss://container@account.dfs.core.windows.net/…",
        )
    return f"{account}.{_AZURE_HOST}"


def _azure(url: str, settings: Settings) -> dict[str, str]:
    host = azure_host(url, settings)
    if (key := settings.get("account_key")) is not None:
        found = {"account.auth.type": "SharedKey", "account.key": key}
    elif (token := settings.get("sas_key")) is not None:
        found = {"account.auth.type": "SAS", "sas.fixed.token": token.removeprefix("?")}
    elif settings.get("client_secret") is not None:
        login = (settings.get("authority_host") or _AZURE_LOGIN).rstrip("/")
        found = {
            "account.auth.type": "OAuth",
            "account.oauth.provider.type": "org.apache.hadoop.fs.azurebfs.oauth2.ClientCredsTokenProvider",
            "account.oauth2.client.id": settings.get("client_id") or "",
            "account.oauth2.client.secret": settings.get("client_secret") or "",
            "account.oauth2.client.endpoint": f"{login}/{settings.get('tenant_id') or 'common'}/oauth2/token",
        }
    else:
        found = {}
    return {f"fs.azure.{name}.{host}": value for name, value in found.items()}

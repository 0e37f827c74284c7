"""How Spark's reader gets at files: its options, the credentials among them, and what it says when it cannot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from quacklake.errors import AuthError, MissingExtraError, QuacklakeError, StorageError

_ALWAYS = {
    # Settings of the user's session that would change or lose what is read.
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
    "mergeSchema": "false",
}
_S3 = {
    "access_key_id": "fs.s3a.access.key",
    "secret_access_key": "fs.s3a.secret.key",
    "session_token": "fs.s3a.session.token",
    "token": "fs.s3a.session.token",
    "region": "fs.s3a.endpoint.region",
    "default_region": "fs.s3a.endpoint.region",
    "endpoint": "fs.s3a.endpoint",
    "endpoint_url": "fs.s3a.endpoint",
}
_PROVIDERS = "org.apache.hadoop.fs.s3a."
_PACKAGES = {
    "s3a": "org.apache.hadoop:hadoop-aws:3.4.2",
    "abfs": "org.apache.hadoop:hadoop-azure:3.4.2",
    "abfss": "org.apache.hadoop:hadoop-azure:3.4.2",
    "gs": "com.google.cloud.bigdataoss:gcs-connector:hadoop3-2.2.26",
}


def reader_options(paths: Sequence[str], options: Mapping[str, str]) -> dict[str, str]:
    """The options for a read of these paths.

    Args:
        paths: As the reader takes them.
        options: Credentials and endpoints, as obstore names them.
    """
    return {**_ALWAYS, **store_options(paths, options)}


def store_options(paths: Sequence[str], options: Mapping[str, str]) -> dict[str, str]:
    """The options that let Spark at the stores of these paths, as the reader and the writer take them."""
    schemes = {path.partition("://")[0] for path in paths}
    named = {key.lower(): value for key, value in options.items()}
    found: dict[str, str] = {}
    if "s3a" in schemes:
        found.update(_s3_options(named))
    if "gs" in schemes:
        found.update(_gcs_options(named))
    if schemes & {"abfs", "abfss"}:
        found.update(_azure_options(named))
    return found


def _s3_options(options: Mapping[str, str]) -> dict[str, str]:
    plain = {key.removeprefix("aws_"): value for key, value in options.items()}
    found = {_S3[key]: value for key, value in plain.items() if key in _S3}
    if "fs.s3a.endpoint" in found:
        # A store that is not Amazon's seldom has a name for each bucket.
        virtual = plain.get("virtual_hosted_style_request", "false").lower() == "true"
        found["fs.s3a.path.style.access"] = "false" if virtual else "true"
        found["fs.s3a.connection.ssl.enabled"] = str(not found["fs.s3a.endpoint"].startswith("http://")).lower()
    if plain.get("skip_signature", "false").lower() == "true":
        found["fs.s3a.aws.credentials.provider"] = f"{_PROVIDERS}AnonymousAWSCredentialsProvider"
    elif "fs.s3a.session.token" in found:
        found["fs.s3a.aws.credentials.provider"] = f"{_PROVIDERS}TemporaryAWSCredentialsProvider"
    elif "fs.s3a.access.key" in found:
        found["fs.s3a.aws.credentials.provider"] = f"{_PROVIDERS}SimpleAWSCredentialsProvider"
    return found


def _gcs_options(options: Mapping[str, str]) -> dict[str, str]:
    for key in ("google_service_account", "google_service_account_path", "service_account", "service_account_path"):
        if key in options:
            return {
                "fs.gs.auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE",
                "fs.gs.auth.service.account.json.keyfile": options[key],
            }
    return {}


def _azure_options(options: Mapping[str, str]) -> dict[str, str]:
    plain = {key.removeprefix("azure_storage_"): value for key, value in options.items()}
    account = plain.get("account_name")
    key = plain.get("account_key") or plain.get("access_key")
    return {f"fs.azure.account.key.{account}.dfs.core.windows.net": key} if account and key else {}


@contextmanager
def planning_errors(paths: Sequence[str]) -> Iterator[None]:
    """Turn what Spark raises when it first looks at files into our errors, where they are about files."""
    try:
        yield
    except Exception as error:
        # Java's exceptions come through several classes, and one of them belongs to a library of PySpark's own.
        fault = _explain(str(error), paths)
        if fault is not None:
            raise fault from error
        raise


def _explain(text: str, paths: Sequence[str]) -> QuacklakeError | None:
    scheme = paths[0].partition("://")[0] if paths else ""
    if "PATH_NOT_FOUND" in text or "FileNotFoundException" in text:
        return StorageError(f"Spark finds a file missing: {text.splitlines()[0]}", hint="was it removed from outside?")
    if "ClassNotFoundException" in text or "No FileSystem for scheme" in text:
        package = _PACKAGES.get(scheme)
        if package is None:
            return None
        line = f'.config("spark.jars.packages", "{package}")'
        return MissingExtraError(
            f"Spark has nothing to read {scheme}:// with", hint=f"put {line} into the builder, before Spark has started"
        )
    if "AccessDenied" in text or "403 Forbidden" in text or "AccessControlException" in text:
        return AuthError(f"Spark may not read {paths[0]}", hint="check storage_options or the settings of Spark")
    return None

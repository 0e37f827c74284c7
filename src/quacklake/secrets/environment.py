"""What the environment says about object stores, as obstore reads it too."""

from __future__ import annotations

from collections.abc import Mapping

from quacklake.secrets.kinds import Kind
from quacklake.secrets.spelling import read_settings

_VARIABLES: dict[Kind, str] = {
    "s3": """AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_DEFAULT_REGION AWS_REGION AWS_ENDPOINT
        AWS_ENDPOINT_URL AWS_ENDPOINT_URL_S3 AWS_ALLOW_HTTP AWS_SKIP_SIGNATURE AWS_VIRTUAL_HOSTED_STYLE_REQUEST
        AWS_ROLE_ARN AWS_ROLE_SESSION_NAME AWS_WEB_IDENTITY_TOKEN_FILE""",
    "gcs": """GOOGLE_APPLICATION_CREDENTIALS GOOGLE_SERVICE_ACCOUNT GOOGLE_SERVICE_ACCOUNT_PATH
        GOOGLE_SERVICE_ACCOUNT_KEY GOOGLE_SKIP_SIGNATURE""",
    "azure": """AZURE_STORAGE_ACCOUNT_NAME AZURE_STORAGE_ACCOUNT_KEY AZURE_STORAGE_ACCESS_KEY AZURE_STORAGE_SAS_TOKEN
        AZURE_STORAGE_SAS_KEY AZURE_CLIENT_ID AZURE_CLIENT_SECRET AZURE_TENANT_ID AZURE_STORAGE_CLIENT_ID
        AZURE_STORAGE_CLIENT_SECRET AZURE_STORAGE_TENANT_ID AZURE_STORAGE_TOKEN AZURE_SKIP_SIGNATURE""",
}
"""In the order in which a later one wins over an earlier one that means the same."""


def read_environment(kind: Kind, environment: Mapping[str, str]) -> dict[str, str]:
    """The settings for a kind of store that are in the environment."""
    return read_settings(kind, {name: environment[name] for name in _VARIABLES[kind].split() if environment.get(name)})

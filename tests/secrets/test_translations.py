"""One set of settings, in the words of obstore, of Polars and of Hadoop."""

from __future__ import annotations

import json

import pytest

from quacklake.errors import InvalidInputError
from quacklake.secrets.hadoop_settings import hadoop_settings
from quacklake.secrets.keyring import Keyring
from quacklake.secrets.obstore_config import obstore_config, polars_options
from quacklake.secrets.secret import Settings

HOST = "acc.dfs.core.windows.net"


def settings(url: str, **given: object) -> Settings:
    found = Keyring(given, {}).settings(url)
    assert found is not None
    return found


def hadoop(url: str, **given: object) -> dict[str, str]:
    return hadoop_settings(url, settings(url, **given))


def test_s3_for_obstore_and_polars() -> None:
    found = settings(
        "s3://b", KEY_ID="k", SECRET="s", TOKEN="t", ENDPOINT="h:1", USE_SSL=False, REGION="r", timeout="5s"
    )
    config = obstore_config(found)
    assert config.store == {"aws_endpoint": "http://h:1", "aws_region": "r"}
    assert config.client == {"allow_http": True, "timeout": "5s"}
    assert config.keys == {"access_key_id": "k", "secret_access_key": "s", "token": "t"}
    assert polars_options(found) == {**config.store, "allow_http": "true", "timeout": "5s"}
    assert obstore_config(settings("s3://b", url_style="vhost")).store == {"aws_virtual_hosted_style_request": "true"}
    assert obstore_config(settings("s3://b", url_style="path")).store == {"aws_virtual_hosted_style_request": "false"}


@pytest.mark.parametrize(
    ("url", "given"),
    [
        ("s3://b", {"aws_access_key_id": "k", "aws_secret_access_key": "s", "path_style": True, "request_payer": True}),
        ("s3://b", {"server_side_encryption": "aws:kms", "sse_kms_key_id": "k", "skip_signature": True}),
        ("gs://b", {"bearer_token": "t", "base_url": "http://h:1"}),
        ("gs://b", {"skip_signature": True, "connect_timeout": "5s"}),
        ("az://c", {"account_name": "a", "account_key": "a2V5", "use_emulator": False}),
        ("az://c", {"account_name": "a", "sas_key": "sv=1&sig=x", "endpoint": "http://h:1"}),
        ("az://c", {"account_name": "a", "client_id": "c", "client_secret": "s", "tenant_id": "t"}),
        ("abfss://c@a.dfs.core.windows.net", {"token": "t"}),
    ],
)
def test_obstore_opens_a_store_with_what_it_is_given(url: str, given: dict[str, object]) -> None:
    from quacklake.storage.stores import Stores

    store, key = Stores(given).locate(f"{url}/x/y")
    assert key == "x/y"
    assert store is not None


def test_s3_for_hadoop_is_said_of_the_bucket() -> None:
    found = hadoop("s3://b/x", access_key="k", secret_key="s", endpoint="http://h:1", region="eu")
    assert found == {
        "fs.s3a.bucket.b.access.key": "k",
        "fs.s3a.bucket.b.secret.key": "s",
        "fs.s3a.bucket.b.endpoint": "http://h:1",
        "fs.s3a.bucket.b.endpoint.region": "eu",
        "fs.s3a.bucket.b.path.style.access": "true",
        "fs.s3a.bucket.b.connection.ssl.enabled": "false",
        "fs.s3a.bucket.b.aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
    }


@pytest.mark.parametrize(
    ("given", "name", "value"),
    [
        ({"key": "k", "secret": "s", "token": "t"}, "aws.credentials.provider", "TemporaryAWSCredentialsProvider"),
        ({"anonymous": True}, "aws.credentials.provider", "AnonymousAWSCredentialsProvider"),
        ({"key": "k", "secret": "s", "url_style": "vhost", "endpoint": "https://h"}, "path.style.access", "false"),
        ({"key": "k", "secret": "s", "url_style": "path"}, "path.style.access", "true"),
        ({"endpoint": "https://h"}, "connection.ssl.enabled", "true"),
        ({"server_side_encryption": "aws:kms", "sse_kms_key_id": "id"}, "encryption.algorithm", "SSE-KMS"),
        ({"server_side_encryption": "AES256"}, "encryption.algorithm", "SSE-S3"),
        ({"request_payer": True}, "requester.pays.enabled", "true"),
    ],
)
def test_what_s3_can_do_else(given: dict[str, object], name: str, value: str) -> None:
    assert hadoop("s3a://b/x", **given)[f"fs.s3a.bucket.b.{name}"].endswith(value)


def test_hadoop_hears_nothing_when_there_is_nothing_to_say() -> None:
    assert hadoop("s3://b/x") == {}
    assert hadoop("s3://b/x", region="eu") == {}
    assert hadoop("gs://b/x") == {}
    assert hadoop("abfss://c@acc.dfs.core.windows.net/x") == {}


def test_gcs_for_hadoop() -> None:
    file = hadoop("gs://b/x", keyfile="/k.json")
    assert file["fs.gs.auth.service.account.json.keyfile"] == "/k.json"
    assert file["fs.gs.auth.service.account.enable"] == "true"
    text = json.dumps({"client_email": "me@x", "private_key_id": "1", "private_key": "pem"})
    whole = hadoop("gcs://b/x", service_account_key=text)
    assert whole["fs.gs.auth.service.account.private.key"] == "pem"
    assert whole["fs.gs.auth.service.account.email"] == "me@x"
    nobody = hadoop("gs://b/x", anonymous=True, endpoint="http://h:1")
    assert nobody["fs.gs.auth.null.enable"] == "true"
    assert nobody["fs.gs.storage.root.url"] == "http://h:1/"


@pytest.mark.parametrize("text", ["{not json", '{"client_email": "me"}', "[]"])
def test_a_key_of_gcs_that_is_none_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(InvalidInputError, match="not the key of a service account") as caught:
        hadoop("gs://b/x", service_account_key=text)
    assert caught.value.__suppress_context__


def test_azure_for_hadoop() -> None:
    assert hadoop("az://c/x", account_name="acc", account_key="k") == {
        f"fs.azure.account.auth.type.{HOST}": "SharedKey",
        f"fs.azure.account.key.{HOST}": "k",
    }
    assert hadoop(f"abfss://c@{HOST}/x", account_key="k")[f"fs.azure.account.key.{HOST}"] == "k"
    shared = hadoop(f"abfss://c@{HOST}/x", sas_token="?sig=1")
    assert shared == {f"fs.azure.account.auth.type.{HOST}": "SAS", f"fs.azure.sas.fixed.token.{HOST}": "sig=1"}
    service = hadoop(f"abfss://c@{HOST}/x", client_id="c", client_secret="s", tenant_id="t")
    assert service[f"fs.azure.account.auth.type.{HOST}"] == "OAuth"
    assert service[f"fs.azure.account.oauth2.client.endpoint.{HOST}"] == (
        "https://login.microsoftonline.com/t/oauth2/token"
    )
    with pytest.raises(InvalidInputError, match="account_name"):
        hadoop("az://c/x", account_key="k")

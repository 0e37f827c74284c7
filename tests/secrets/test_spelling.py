"""Settings by every name that people know them by."""

from __future__ import annotations

import pytest

from quacklake.errors import InvalidInputError
from quacklake.secrets.kinds import Kind
from quacklake.secrets.spelling import read_options, read_settings

KEYS = {"access_key_id": "AK", "secret_access_key": "SK"}
S3_WAYS: dict[str, dict[str, object]] = {
    "obstore": {"access_key_id": "AK", "secret_access_key": "SK"},
    "with the provider": {"aws_access_key_id": "AK", "aws_secret_access_key": "SK"},
    "variables": {"AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "SK"},
    "short": {"access_key": "AK", "secret_key": "SK"},
    "DuckDB": {"KEY_ID": "AK", "SECRET": "SK"},
    "Hadoop": {"fs.s3a.access.key": "AK", "fs.s3a.secret.key": "SK"},
    "Spark": {"spark.hadoop.fs.s3a.access.key": "AK", "spark.hadoop.fs.s3a.secret.key": "SK"},
}


@pytest.mark.parametrize("way", S3_WAYS)
def test_a_key_of_s3_has_many_names(way: str) -> None:
    assert read_settings("s3", S3_WAYS[way]) == KEYS


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"endpoint_url": "http://h:1"}, {"endpoint": "http://h:1", "allow_http": "true"}),
        ({"ENDPOINT": "h:1", "USE_SSL": False}, {"endpoint": "http://h:1", "allow_http": "true"}),
        ({"ENDPOINT": "h:1", "USE_SSL": "true"}, {"endpoint": "https://h:1"}),
        ({"ENDPOINT": "h:1"}, {"endpoint": "https://h:1"}),
        ({"endpoint": "http://h:1", "allow_http": "false"}, {"endpoint": "http://h:1", "allow_http": "false"}),
        (
            {"fs.s3a.endpoint": "h", "fs.s3a.connection.ssl.enabled": "false"},
            {"endpoint": "http://h", "allow_http": "true"},
        ),
        ({"URL_STYLE": "path"}, {"path_style": "true"}),
        ({"URL_STYLE": "vhost"}, {"path_style": "false"}),
        ({"virtual_hosted_style_request": "true"}, {"path_style": "false"}),
        ({"fs.s3a.path.style.access": True}, {"path_style": "true"}),
        ({"region_name": "r"}, {"region": "r"}),
        ({"aws_default_region": "r"}, {"region": "r"}),
        ({"aws_allow_http": "True"}, {"allow_http": "true"}),
        ({"anon": 1}, {"skip_signature": "true"}),
    ],
)
def test_one_thing_said_in_many_ways(given: dict[str, object], meant: dict[str, str]) -> None:
    assert read_settings("s3", given) == meant


@pytest.mark.parametrize(
    ("kind", "given", "meant"),
    [
        ("gcs", {"GOOGLE_APPLICATION_CREDENTIALS": "/k.json"}, {"application_credentials": "/k.json"}),
        ("gcs", {"keyfile": "/k.json"}, {"service_account": "/k.json"}),
        ("gcs", {"google_service_account_path": "/k.json"}, {"service_account": "/k.json"}),
        ("azure", {"AZURE_STORAGE_ACCOUNT_NAME": "a", "access_key": "k"}, {"account_name": "a", "account_key": "k"}),
        ("azure", {"azure_client_id": "c", "tenant_id": "t"}, {"client_id": "c", "tenant_id": "t"}),
        ("azure", {"sas_token": "?sig=1"}, {"sas_key": "?sig=1"}),
    ],
)
def test_other_stores_have_names_of_their_own(kind: Kind, given: dict[str, object], meant: dict[str, str]) -> None:
    assert read_settings(kind, given) == meant


def test_options_go_to_the_stores_that_know_them() -> None:
    found = read_options(
        {"aws_region": "r", "azure_account_name": "a", "google_base_url": "https://g", "timeout": "9s"}
    )
    assert found == {
        "s3": {"region": "r", "timeout": "9s"},
        "gcs": {"base_url": "https://g", "timeout": "9s"},
        "azure": {"account_name": "a", "timeout": "9s"},
    }


def test_a_name_that_nobody_knows_is_refused_with_those_that_are_near() -> None:
    with pytest.raises(InvalidInputError, match=r"no setting 'acces_key_id' for s3.*access_key_id") as caught:
        read_settings("s3", {"acces_key_id": "a-value-that-is-secret"})
    assert "a-value-that-is-secret" not in str(caught.value)
    with pytest.raises(InvalidInputError, match="object_stores"):
        read_options({"zzz": "1"})
    with pytest.raises(InvalidInputError, match="'region' for gcs"):
        read_settings("gcs", {"region": "eu"})


def test_what_is_neither_true_nor_false_is_refused_without_saying_what_it_was() -> None:
    with pytest.raises(InvalidInputError, match="use_ssl is neither true nor false") as caught:
        read_settings("s3", {"use_ssl": "my-password"})
    assert "my-password" not in str(caught.value)

"""Which secret opens which URL, and that none is ever seen."""

from __future__ import annotations

import json
import pickle
import traceback
from dataclasses import asdict
from pathlib import Path

import pytest

import quacklake as ql
from quacklake.errors import AlreadyExistsError, InvalidInputError, NotFoundError, StorageError
from quacklake.secrets.keyring import Keyring
from quacklake.secrets.obstore_config import obstore_config
from quacklake.storage.stores import Stores

HIDDEN = "hunter2/with+signs=="


def made(**environment: str) -> Keyring:
    return Keyring({"access_key": "options", "secret_key": HIDDEN}, environment)


def key(secrets: Keyring, url: str) -> str | None:
    settings = secrets.settings(url)
    assert settings is not None
    return settings.get("access_key_id")


def test_the_secret_of_a_bucket_comes_before_others_and_the_younger_before_the_older() -> None:
    secrets = made()
    assert key(secrets, "s3://a/x") == "options"
    secrets.create("all", "s3", None, {"key_id": "all"})
    assert key(secrets, "s3://a/x") == "all"
    secrets.create("one", "s3", "s3a://a/", {"key_id": "one"})
    secrets.create("later", "s3", None, {"key_id": "later"})
    assert [key(secrets, url) for url in ("s3://a/x", "s3a://a", "s3://ab/x", "S3://b/x")] == [
        "one",
        "one",
        "later",
        "later",
    ]
    secrets.drop("one")
    secrets.drop("later")
    assert key(secrets, "s3://a/x") == "all"
    assert secrets.settings("/a/file") is None
    found = secrets.settings("gs://a/x")
    assert found is not None
    assert found.values == ()


def test_a_container_of_azure_is_known_with_and_without_its_account() -> None:
    secrets = Keyring(None, {})
    secrets.create("one", "azure", "abfss://c@one.dfs.core.windows.net", {"account_name": "one", "account_key": "k1"})
    secrets.create("any", "azure", "az://d", {"account_name": "two", "account_key": "k2"})
    names = {}
    for url in ("abfss://c@one.dfs.core.windows.net/x", "az://c/x", "abfss://c@other.dfs.core.windows.net/x", "az://d"):
        settings = secrets.settings(url)
        names[url] = None if settings is None else settings.get("account_name")
    assert list(names.values()) == ["one", "one", None, "two"]


def test_the_environment_fills_in_what_is_open_but_credentials_are_never_mixed() -> None:
    variables = {
        "AWS_ACCESS_KEY_ID": "env",
        "AWS_SECRET_ACCESS_KEY": "env-secret",
        "AWS_SESSION_TOKEN": "env-token",
        "AWS_REGION": "eu-central-1",
        "AWS_ENDPOINT_URL": "http://h:1",
        "HOME": "/h",
    }
    alone = Keyring(None, variables).settings("s3://b")
    assert alone is not None
    assert (alone.get("access_key_id"), alone.get("session_token")) == ("env", "env-token")
    mixed = made(**variables).settings("s3://b")
    assert mixed is not None
    assert dict(mixed.values) == {
        "access_key_id": "options",
        "secret_access_key": HIDDEN,
        "region": "eu-central-1",
        "endpoint": "http://h:1",
        "allow_http": "true",
    }
    assert mixed.get("session_token") is None


def test_tasks_get_the_environment_of_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    sent = pickle.dumps(Keyring({"key_id": "k", "secret": "s"}))
    monkeypatch.setenv("AWS_REGION", "elsewhere")
    settings = pickle.loads(sent).settings("s3://b")
    assert dict(settings.values) == {"access_key_id": "k", "secret_access_key": "s", "region": "eu-central-1"}


def test_a_session_token_of_the_environment_is_not_sent_with_other_keys() -> None:
    settings = made(AWS_SESSION_TOKEN="of somebody else").settings("s3://b")
    assert settings is not None
    assert obstore_config(settings).keys == {"access_key_id": "options", "secret_access_key": HIDDEN, "token": None}


def test_secrets_are_made_listed_and_dropped(tmp_path: Path) -> None:
    with ql.connect(tmp_path / "lake.db", engine="local") as session:
        assert session.secrets() == []
        session.create_secret("mine", type="s3", scope="s3://b", KEY_ID="id-of-key", SECRET=HIDDEN, REGION="eu")
        with pytest.raises(AlreadyExistsError, match="'mine'"):
            session.create_secret("mine", type="s3")
        session.create_secret("mine", type="s3", scope="s3://c", replace=True, KEY_ID="id-of-key", SECRET=HIDDEN)
        session.create_secret("cloud", type="gcs", keyfile="/path/of/key.json")
        listed = session.secrets()
        assert [(each.name, each.type, each.scope) for each in listed] == [
            ("mine", "s3", "s3://c"),
            ("cloud", "gcs", None),
        ]
        assert listed[0].settings == {"access_key_id": "***", "secret_access_key": "***"}
        session.drop_secret("mine")
        with pytest.raises(NotFoundError, match="'mine'"):
            session.drop_secret("mine")
        assert [each.name for each in session.secrets()] == ["cloud"]


@pytest.mark.parametrize(
    ("type_", "scope", "message"),
    [
        ("ftp", None, "no secret of type 'ftp'"),
        ("s3", "gs://b", "no URL of type s3"),
        ("s3", "s3://b/folder", "not one whole bucket"),
        ("s3", "b", "no URL of type s3"),
        ("azure", "az:///", "not one whole bucket"),
    ],
)
def test_a_secret_that_makes_no_sense_is_refused(type_: str, scope: str | None, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Keyring().create("x", type_, scope, {})


def test_a_wrong_option_is_refused_before_a_lake_is_made(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="'acess_key'"):
        ql.connect(tmp_path / "lake.db", engine="local", storage_options={"acess_key": "x"})
    assert list(tmp_path.iterdir()) == []


def test_nothing_that_is_printed_has_a_secret_in_it(tmp_path: Path) -> None:
    options = {"key_id": "id-of-the-key", "secret": HIDDEN, "endpoint": f"http://user:{'p' * 9}@h:1/x?sig=signed"}
    secrets = Keyring(options, {"AWS_SESSION_TOKEN": "token-of-env"})
    settings = secrets.settings("s3://b")
    assert settings is not None
    with ql.connect(tmp_path / "lake.db", engine="local", storage_options=options) as session:
        session.create_secret("a", type="azure", account_name="acc", account_key=HIDDEN, sas_token="sas-token")
        texts = [
            repr(session),
            repr(session.secrets()),
            json.dumps([asdict(each) for each in session.secrets()]),
            repr(secrets),
            repr(secrets._secrets),
            repr(settings),
            str(settings),
            repr(obstore_config(settings)),
            repr(Stores(secrets)),
        ]
    for hidden in ("id-of-the-key", HIDDEN, "p" * 9, "signed", "token-of-env", "sas-token"):
        assert [text for text in texts if hidden in text] == []
    assert "http://h:1/x" in texts[1]


def test_an_error_loses_what_must_not_be_seen_and_so_does_what_it_came_from() -> None:
    secrets = made(AWS_SESSION_TOKEN="token-of-env")
    source = OSError(f"GET http://h/x?sig={HIDDEN}")
    with pytest.raises(StorageError) as caught, secrets.hiding():
        raise StorageError(f"it said token-of-env and {HIDDEN}", hint=f"not {HIDDEN}") from source
    text = "".join(traceback.format_exception(caught.value))
    assert HIDDEN not in text
    assert "token-of-env" not in text
    assert (caught.value.message, caught.value.hint) == ("it said *** and ***", "not ***")
    with pytest.raises(StorageError, match="as it is") as clean, secrets.hiding():
        raise StorageError("as it is") from OSError("harmless")
    assert isinstance(clean.value.__cause__, OSError)


def test_a_secret_is_hidden_as_it_is_written_in_a_url_as_well() -> None:
    assert made().redact("?sig=hunter2%2Fwith%2Bsigns%3D%3D") == "?sig=***"

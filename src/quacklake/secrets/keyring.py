"""The one place where a URL, the secrets of a session and the environment become settings.

Nothing is kept anywhere but in memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from quacklake.errors import AlreadyExistsError, InvalidInputError, NotFoundError, QuacklakeError
from quacklake.secrets.environment import read_environment
from quacklake.secrets.kinds import KINDS, Kind, bucket_of, check_kind, check_scope, kind_of
from quacklake.secrets.secret import Secret, SecretInfo, Settings, redact
from quacklake.secrets.spelling import read_options, read_settings

OPTIONS = "storage_options"
"""What the settings that `connect` was given are called among the secrets."""

_CREDENTIALS: dict[Kind, frozenset[str]] = {
    "s3": frozenset(
        """access_key_id secret_access_key session_token skip_signature role_arn role_session_name
        web_identity_token_file container_credentials_relative_uri container_credentials_full_uri""".split()
    ),
    "gcs": frozenset("service_account service_account_key application_credentials bearer_token skip_signature".split()),
    "azure": frozenset(
        """account_key sas_key client_id client_secret tenant_id token skip_signature use_azure_cli msi_endpoint
        msi_resource_id object_id federated_token_file use_emulator""".split()
    ),
}
_SCHEMES: dict[Kind, str] = {"s3": "s3", "gcs": "gs", "azure": "az"}


def resolve(url: str, secrets: Iterable[Secret], environment: Mapping[str, str]) -> Settings | None:
    """The settings that a URL is opened with; None when it names no object store that has any.

    The secret of the bucket comes before one of all buckets, and a younger secret before an older. What it leaves
    open the environment says; but whoever gives any credentials gives all of them, so that none are mixed.

    Args:
        url: What is to be opened.
        secrets: All there are, oldest first.
        environment: The variables of the process.
    """
    kind = kind_of(url)
    if kind is None:
        return None
    fitting = [each for each in secrets if each.opens(url)]
    chosen = max(reversed(fitting), key=lambda each: each.bucket is not None, default=None)
    given = dict(chosen.settings.values) if chosen is not None else {}
    found = read_environment(kind, environment)
    if _CREDENTIALS[kind] & given.keys():
        found = {name: value for name, value in found.items() if name not in _CREDENTIALS[kind]}
    return Settings(kind, tuple(sorted({**found, **given}.items())))


def has_credentials(settings: Settings) -> bool:
    """Whether the settings say who asks."""
    return any(name in _CREDENTIALS[settings.kind] for name, _ in settings.values)


class Keyring:
    """The secrets of a session. It pickles, for tasks that open stores, and takes the environment along.

    Args:
        options: Settings for stores of any kind, as `connect` takes them.
        environment: The variables of the process; those that it really has when none are given.

    Raises:
        InvalidInputError: For an option that nobody knows.
    """

    def __init__(
        self, options: Mapping[str, object] | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        self._environment = environment
        by_kind = read_options(options or {})
        # Replaced as a whole and never changed, so that other threads may read it.
        self._secrets: tuple[Secret, ...] = tuple(
            Secret(OPTIONS, kind, None, _settings(kind, by_kind[kind])) for kind in KINDS if by_kind[kind]
        )

    def create(
        self, name: str, kind: str, scope: str | None, settings: Mapping[str, object], *, replace: bool = False
    ) -> None:
        """Take up a secret.

        Raises:
            AlreadyExistsError: When there is one of that name.
            InvalidInputError: For a kind, a scope or a setting that makes no sense.
        """
        if not name or name == OPTIONS:
            raise InvalidInputError(f"a secret cannot be called {name!r}", hint="choose another name")
        if not replace and any(each.name == name for each in self._secrets):
            raise AlreadyExistsError(f"there is a secret {name!r} already", hint="drop it, or say replace=True")
        known = check_kind(kind)
        secret = Secret(name, known, check_scope(scope, known), _settings(known, read_settings(known, settings)))
        self._secrets = (*(each for each in self._secrets if each.name != name), secret)

    def add_options(self, name: str, options: Mapping[str, object], url: str) -> None:
        """Take up settings, by any of their names, for the bucket of one URL.

        Raises:
            InvalidInputError: For an option that nobody knows.
        """
        by_kind = read_options(options)
        kind = kind_of(url)
        if kind is None or not by_kind[kind]:
            return
        secret = Secret(name, kind, bucket_of(url), _settings(kind, by_kind[kind]))
        self._secrets = (*(each for each in self._secrets if each.name != name), secret)

    def forget(self, name: str) -> None:
        """Forget a secret if there is one of that name."""
        self._secrets = tuple(each for each in self._secrets if each.name != name)

    def drop(self, name: str) -> None:
        """Forget a secret.

        Raises:
            NotFoundError: When there is none of that name.
        """
        left = tuple(each for each in self._secrets if each.name != name or name == OPTIONS)
        if left == self._secrets:
            raise NotFoundError(f"there is no secret {name!r}", hint="session.secrets() lists them")
        self._secrets = left

    def list(self) -> list[SecretInfo]:
        """What there is to see of the secrets, oldest first."""
        return [SecretInfo(each.name, each.kind, _scope(each), each.settings.shown()) for each in self._secrets]

    def settings(self, url: str) -> Settings | None:
        """The settings that a URL is opened with; None when it names no object store that has any."""
        return resolve(url, self._secrets, self._variables())

    def redact(self, text: str) -> str:
        """The text without any value that must not be seen."""
        values = [value for each in self._secrets for value in each.settings.hidden()]
        for kind in KINDS:
            values += _settings(kind, read_environment(kind, self._variables())).hidden()
        return redact(text, values)

    @contextmanager
    def hiding(self) -> Iterator[None]:
        """Let no error of ours out that says what must not be seen, nor one that it came from."""
        try:
            yield
        except QuacklakeError as error:
            if all(self.redact(str(each)) == str(each) for each in _chain(error)):
                raise
            hint = None if error.hint is None else self.redact(error.hint)
            raise type(error)(self.redact(error.message), hint=hint) from None

    def _variables(self) -> Mapping[str, str]:
        return os.environ if self._environment is None else self._environment

    def __getstate__(self) -> dict[str, object]:
        kept = {
            name: value for name, value in self._variables().items() if name.startswith(("AWS_", "GOOGLE_", "AZURE_"))
        }
        return {"_environment": kept, "_secrets": self._secrets}

    def __repr__(self) -> str:
        return f"<keyring of {len(self._secrets)}>"


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and those that a traceback shows with it."""
    found: BaseException | None = error
    while found is not None:
        yield found
        found = found.__cause__ or (None if found.__suppress_context__ else found.__context__)


def keyring_of(given: Keyring | Mapping[str, object] | None) -> Keyring:
    """The keyring itself, or a new one that holds the options."""
    return given if isinstance(given, Keyring) else Keyring(given)


def _settings(kind: Kind, values: Mapping[str, str]) -> Settings:
    return Settings(kind, tuple(sorted(values.items())))


def _scope(secret: Secret) -> str | None:
    if secret.bucket is None:
        return None
    return f"{'abfss' if '@' in secret.bucket else _SCHEMES[secret.kind]}://{secret.bucket}"

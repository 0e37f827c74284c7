"""Put finished files into their place, and take them away again."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from quacklake.errors import AuthError, StorageError
from quacklake.storage.paths import absolute
from quacklake.storage.stores import Stores, is_remote, local_errors, local_path, split_url, store_url


def staging_root(folder: str) -> Path:
    """Where files that go below `folder` are made: there, when it is on this disk, so that a rename is enough."""
    return Path(tempfile.gettempdir()) if is_remote(folder) else Path(local_path(folder)).absolute()


def move_in(file: Path, target: str, stores: Stores) -> None:
    """Move a finished file to its place under a name that nothing else has.

    Raises:
        StorageError: When the place cannot be written: a full disk, a denied bucket.
    """
    if is_remote(target):
        with stores.errors(target, "write"), file.open("rb") as body:
            store, key = stores.locate(target)
            store.put(key, body)
        file.unlink()
        return
    place = Path(local_path(target))
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            file.replace(place)
        except OSError:
            # Another file system: copy, then let go of the original.
            shutil.move(str(file), str(place))
    except OSError as error:
        raise StorageError(f"cannot write {target}: {error.strerror or error}") from error


def copy_file(path: str, target: str, stores: Stores) -> None:
    """Put a copy of a file into another place, in bounded memory where one of them is on this disk.

    Raises:
        StorageError: When the file is missing, or the place cannot be written.
    """
    if is_remote(path):
        body = stores.read(path)
        with tempfile.TemporaryDirectory(prefix="quacklake-") as folder:
            made = Path(folder) / "copy"
            made.write_bytes(body)
            move_in(made, target, stores)
        return
    with tempfile.TemporaryDirectory(
        prefix=".staging-", dir=_existing(staging_root(target.rpartition("/")[0]))
    ) as folder:
        made = Path(folder) / "copy"
        with local_errors(path):
            shutil.copyfile(local_path(path), made)
        move_in(made, target, stores)


def _existing(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def remove(paths: Iterable[str], stores: Stores) -> list[str]:
    """Take files away; those that are gone already do not matter.

    Returns:
        The paths that could not be removed.
    """
    left = []
    for path in paths:
        try:
            if is_remote(path):
                with stores.errors(path, "remove"):
                    store, key = stores.locate(path)
                    store.delete(key)
            else:
                Path(local_path(path)).unlink(missing_ok=True)
        except (OSError, AuthError):
            left.append(path)
    return left


def delete_files(paths: Sequence[str], stores: Stores) -> dict[str, str]:
    """Take files away; those that are gone already are fine. Object stores are asked for all at once.

    Returns:
        By path, why a file is still there.
    """
    left: dict[str, str] = {}
    buckets: dict[str, list[str]] = {}
    for path in paths:
        if is_remote(path):
            buckets.setdefault(split_url(path)[0], []).append(path)
        else:
            try:
                Path(local_path(path)).unlink(missing_ok=True)
            except NotADirectoryError:
                continue
            except OSError as error:
                left[path] = error.strerror or str(error)
    for bucket, found in buckets.items():
        try:
            with stores.errors(bucket, "delete from"):
                store, _ = stores.locate(bucket)
                store.delete([split_url(path)[1] for path in found])
        except (StorageError, AuthError):
            # One of them, or all, or one that was gone: ask for each to know.
            left |= _delete_objects(found, stores)
    return left


def _delete_objects(paths: Sequence[str], stores: Stores) -> dict[str, str]:
    """Take objects away one by one. When the store does not answer, it is not asked for the rest."""
    from obstore.exceptions import NotFoundError

    left: dict[str, str] = {}
    for index, path in enumerate(paths):
        try:
            with stores.errors(path, "delete"):
                _delete_object(path, stores)
        except AuthError as error:
            left[path] = error.message
        except StorageError as error:
            reason = error.message.split("\n", 1)[0]
            if not isinstance(error.__cause__, NotFoundError):
                return left | dict.fromkeys(paths[index:], reason)
            left[path] = reason
    return left


def _delete_object(path: str, stores: Stores) -> None:
    from obstore.exceptions import NotFoundError

    store, key = stores.locate(path)
    try:
        store.delete(key)
    except (NotFoundError, FileNotFoundError):
        # Is it the file that is not there, or the bucket?
        next(iter(store.list(key)), None)


@contextmanager
def removing_on_failure(stores: Stores) -> Iterator[list[str]]:
    """A list for the paths of files that are in their place: when the rest fails, they are taken away again."""
    placed: list[str] = []
    try:
        yield placed
    except BaseException:
        remove(placed, stores)
        raise


def list_files(folder: str, stores: Stores) -> list[str]:
    """Every file below a folder, in order, each as the folder's path goes on."""
    if not is_remote(folder):
        root = Path(local_path(folder))
        return [folder + found.relative_to(root).as_posix() for found in sorted(root.rglob("*")) if found.is_file()]
    with stores.errors(folder):
        store, prefix = stores.locate(folder)
        keys = [entry["path"] for batch in store.list(prefix) for entry in batch]
    # An object that stands for the folder itself has no name in it.
    return sorted(folder + key.removeprefix(prefix).lstrip("/") for key in keys if key.startswith(prefix))


def is_gone(folder: str, stores: Stores) -> bool:
    """Whether nothing is left of a folder of an object store, not even an object that stands for it.

    A store that does not answer has nothing that could be taken away.
    """
    try:
        with stores.errors(folder):
            store, prefix = stores.locate(folder)
            return not any(len(batch) for batch in store.list(prefix))
    except (StorageError, AuthError):
        return True


def find_files(pattern: str, stores: Stores) -> list[str]:
    """The files that a path stands for, absolute and in order; `*`, `?`, `[a-z]` and `**` as DuckDB reads them.

    Raises:
        StorageError: When there is none.
    """
    path = absolute(pattern)
    plain = store_url(path) if is_remote(path) else local_path(path)
    if not any(mark in path for mark in "*?[") or (not is_remote(path) and Path(plain).exists()):
        return [path]
    with stores.cursor(path) as cursor:
        names = [row[0] for row in cursor.execute("SELECT file FROM glob($path)", {"path": plain}).fetchall()]
    if not names:
        raise StorageError(f"no file is called {path}")
    return sorted(absolute(name) for name in names)

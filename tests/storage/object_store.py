"""An object store in this process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """Where the store is, what opens it, and a client to fill it with."""

    url: str
    options: dict[str, str]
    client: Any

    def put(self, key: str, content: bytes) -> str:
        """Store an object; gives its URL."""
        self.client.put_object(Bucket=self.url.removeprefix("s3://"), Key=key, Body=content)
        return f"{self.url}/{key}"


@pytest.fixture(scope="session")
def object_store() -> Iterator[ObjectStore]:
    """S3, played by moto."""
    boto3 = pytest.importorskip("boto3", reason="boto3 is not installed")
    moto = pytest.importorskip("moto.server", reason="moto's server is not installed")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    names = {"aws_access_key_id": "key", "aws_secret_access_key": "secret"}
    client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", **names)
    client.create_bucket(Bucket="lake-bucket")
    options = {**names, "aws_region": "us-east-1", "aws_endpoint": endpoint, "allow_http": "true"}
    yield ObjectStore("s3://lake-bucket", options, client)
    client.close()
    server.stop()

"""Hadoop's connectors for object stores: which jars Spark needs, and the settings that bring them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from quacklake.secrets.kinds import KINDS, Kind, kind_of


@dataclass(frozen=True, slots=True)
class _Versions:
    hadoop: str
    """What Spark itself is built with; connectors of another version find its classes changed."""
    aws: str
    """The SDK that this version of S3A is built with."""
    gcs: str


_NEWEST = "4.1"
_VERSIONS = {_NEWEST: _Versions(hadoop="3.4.2", aws="2.29.52", gcs="hadoop3-2.2.26")}


def packages(kinds: Iterable[Kind], spark_version: str = _NEWEST) -> dict[str, str]:
    """The settings for the builder of a Spark session that bring the connectors for some kinds of stores.

    Args:
        kinds: The kinds.
        spark_version: Of the Spark that they are for.
    """
    known = _VERSIONS.get(".".join(spark_version.split(".")[:2]), _VERSIONS[_NEWEST])
    # The SDK in parts: the bundle that S3A asks for is 600 MB, most of it for other services.
    parts = [f"software.amazon.awssdk:{part}:{known.aws}" for part in ("s3", "s3-transfer-manager", "sts")]
    jars: dict[Kind, list[str]] = {
        "s3": [f"org.apache.hadoop:hadoop-aws:{known.hadoop}", *parts],
        "gcs": [f"com.google.cloud.bigdataoss:gcs-connector:{known.gcs}"],
        "azure": [f"org.apache.hadoop:hadoop-azure:{known.hadoop}"],
    }
    wanted = [kind for kind in KINDS if kind in set(kinds)]
    if not wanted:
        return {}
    found = {"spark.jars.packages": ",".join(jar for kind in wanted for jar in jars[kind])}
    if "s3" in wanted:
        found["spark.jars.excludes"] = "software.amazon.awssdk:bundle"
    return found


def packages_for(places: Iterable[str]) -> dict[str, str]:
    """The settings for a session that is started now, for stores that these places are in."""
    kinds = {kind for place in places if (kind := kind_of(place)) is not None}
    return packages(kinds, _own_version()) if kinds else {}


def builder_lines(kind: Kind, spark_version: str = _NEWEST) -> str:
    """What has to be written into the builder of a session."""
    return "".join(f'.config("{name}", "{value}")' for name, value in packages([kind], spark_version).items())


def _own_version() -> str:
    import pyspark

    return str(pyspark.__version__)

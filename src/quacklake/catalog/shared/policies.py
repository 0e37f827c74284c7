"""What PostgreSQL itself enforces in a database that catalogs share: the statements that make it so.

A role sees and changes the rows of the catalogs that it is bound to, and no others. Rows that hang on a table belong
to whom the table belongs; so nobody may claim an id that is another's, and what names a file names one of its own
table.
"""

from __future__ import annotations

from collections.abc import Iterator

from quacklake.catalog.shared.conditions import columns_of, condition, settings_condition
from quacklake.catalog.shared.followers import CALLER, ROLES
from quacklake.catalog.shared.holders import OUTSIDE
from quacklake.catalog.tables import LAYOUT
from quacklake.names import quote

OWNERS = "quacklake_owner"
"""The table that says whose the ids are that no key keeps apart."""
HOLDERS = "quacklake_file_holder"
EXTRA = ("ducklake_catalog", "quacklake_tenant", "quacklake_counter", HOLDERS, "quacklake_moved_id", ROLES, OWNERS)
SEQUENCES = ("snapshot", "entry", "file")
STORE = "quacklake_store(bigint, bigint, text[], text[])"
"""Makes a table for inlined rows, for roles that may make none; without a version, one for deletes."""

_CLAIMED = {"table": "table_id", "view": "view_id", "macro": "macro_id", "column_mapping": "mapping_id"}
_IN_FILES = ("file_column_stats", "file_variant_stats", "file_partition_value", "delete_file")
_TYPES = (
    "BOOLEAN|SMALLINT|INTEGER|BIGINT|REAL|DOUBLE PRECISION|TIME|TIME WITH TIME ZONE|INTERVAL|UUID|BYTEA|VARCHAR"
    r"|(NUMERIC|DECIMAL)( ?\(\d+, ?\d+\))?"
)


def mine(place: str) -> str:
    """What is true of a `catalog_id` that the current role is bound to."""
    bound = f"SELECT r.catalog_id FROM {place}.{ROLES} r WHERE r.role_name = CURRENT_USER"
    return f"catalog_id = ANY (ARRAY({bound}))"


def shared_names() -> Iterator[str]:
    """Every table that is there for good."""
    yield from (f"ducklake_{name}" for name in LAYOUT)
    yield from EXTRA


def make_tables(place: str) -> list[str]:
    """The tables that say which role and which id belong to which catalog."""
    return [
        f"CREATE TABLE IF NOT EXISTS {place}.{ROLES}"
        "(role_name VARCHAR, catalog_id BIGINT, PRIMARY KEY (role_name, catalog_id))",
        f"CREATE TABLE IF NOT EXISTS {place}.{OWNERS}"
        "(kind VARCHAR, id BIGINT, catalog_id BIGINT NOT NULL, PRIMARY KEY (kind, id))",
    ]


def claim_known(place: str) -> list[str]:
    """Note whose the ids are that are there already."""
    texts = []
    for name, column in _CLAIMED.items():
        owner = "x.catalog_id" if name != "column_mapping" else "t.catalog_id"
        joined = "" if name != "column_mapping" else f" JOIN {place}.ducklake_table t ON t.table_id = x.table_id"
        texts.append(
            f"INSERT INTO {place}.{OWNERS} SELECT DISTINCT '{_kind(name)}', x.{column}, {owner}"
            f" FROM {place}.ducklake_{name} x{joined} ON CONFLICT DO NOTHING"
        )
    return texts


def _kind(name: str) -> str:
    return "mapping" if name == "column_mapping" else "entry"


def enable(sql_schema: str) -> list[str]:
    """Turn on security for every table, with the policies of each."""
    place = quote(sql_schema)
    texts = [f"ALTER TABLE {place}.{name} ENABLE ROW LEVEL SECURITY" for name in shared_names()]
    for name in LAYOUT:
        texts += _policies(f"{place}.ducklake_{name}", name, sql_schema)
    for name in ("ducklake_catalog", "quacklake_tenant"):
        texts += _policy(f"{place}.{name}", "own", "ALL", mine(place))
    # Whoever is about to delete a file must see that others need it. What it is called, it does not see.
    texts += _policy(f"{place}.{HOLDERS}", "all", "SELECT", "true")
    texts += _policy(f"{place}.{HOLDERS}", "own", "DELETE", mine(place))
    # A note for somebody outside keeps a file from being deleted, and does no more.
    texts += _policy(f"{place}.{HOLDERS}", "new", "INSERT", f"catalog_id = {OUTSIDE} OR {mine(place)}")
    return texts + _policy(f"{place}.{ROLES}", "own", "SELECT", "role_name = CURRENT_USER")


def _policies(table: str, name: str, sql_schema: str) -> list[str]:
    own = mine(quote(sql_schema))
    if name == "metadata":
        held = settings_condition(sql_schema, own)
        return [*_policy(table, "own", "ALL", held), *_policy(table, "all", "SELECT", "scope IS NULL")]
    held = condition(name, sql_schema, own)
    if name == "name_mapping":
        # Mappings may come in the same statement as their names, so a trigger looks when all are there.
        return [*_policy(table, "own", "ALL", held), *_policy(table, "new", "INSERT", "true")]
    if name == "inlined_data_tables":
        # Whoever takes away a catalog drops the tables that are named here.
        named = "table_name = 'ducklake_inlined_data_' || table_id || '_' || schema_version"
        return _policy(table, "own", "ALL", f"{held} AND {named}")
    return _policy(table, "own", "ALL", held)


def _policy(table: str, name: str, command: str, held: str) -> list[str]:
    test = f"WITH CHECK ({held})" if command == "INSERT" else f"USING ({held})"
    policy = f"quacklake_{name}"
    return [
        f"DROP POLICY IF EXISTS {policy} ON {table}",
        f"CREATE POLICY {policy} ON {table} FOR {command} {test}",
    ]


def guard(sql_schema: str) -> list[str]:
    """The triggers that look at new rows."""
    place = quote(sql_schema)
    texts = [_CLAIM.format(place=place, owners=OWNERS), _IN_FILE.format(place=place), _MAPPED.format(place=place)]
    for name, column in _CLAIMED.items():
        texts.append(_trigger(place, name, f"quacklake_claim('{_kind(name)}', '{column}')"))
    texts += [_trigger(place, name, "quacklake_in_file()") for name in _IN_FILES]
    texts.append(_trigger(place, "name_mapping", "quacklake_mapped()"))
    store = _STORE.format(place=place, schema=sql_schema.replace("'", "''"), types=_TYPES, roles=ROLES, caller=CALLER)
    return [*texts, store, f"REVOKE ALL ON FUNCTION {place}.{STORE} FROM PUBLIC"]


def _trigger(place: str, name: str, call: str) -> str:
    return (
        f"CREATE OR REPLACE TRIGGER quacklake_guard AFTER INSERT ON {place}.ducklake_{name}"
        f" REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION {place}.{call}"
    )


def rights(sql_schema: str) -> list[tuple[str, str]]:
    """What a bound role may do with what: pairs of rights and things. Policies say with which rows."""
    place = quote(sql_schema)
    found = [("USAGE", f"SCHEMA {place}"), ("EXECUTE", f"FUNCTION {place}.{STORE}")]
    found += [("USAGE", f"SEQUENCE {place}.quacklake_{kind}_id") for kind in SEQUENCES]
    found.append(("SELECT", f"TABLE {place}.{ROLES}"))
    found.append(("SELECT (path_key, catalog_id), INSERT, DELETE", f"TABLE {place}.{HOLDERS}"))
    for name in LAYOUT:
        changing = ", ".join(quote(column) for column in columns_of(name) if not _is_id(column))
        found.append((f"SELECT, INSERT, DELETE, UPDATE ({changing})", f"TABLE {place}.ducklake_{name}"))
    # To stand in line, one must be able to change something in the row.
    found.append(("SELECT, UPDATE (created_snapshot)", f"TABLE {place}.ducklake_catalog"))
    found.append(("SELECT, UPDATE (expired_snapshot)", f"TABLE {place}.quacklake_tenant"))
    return found


def _is_id(column: str) -> bool:
    """Whether a column says what a row belongs to: a row that could change it could become another's."""
    return (column.endswith("_id") and column != "next_row_id") or column in ("next_catalog_id", "scope", "table_name")


# The key makes the second of two wait for the first and then see it, however it looks at the database.
_CLAIM = """
CREATE OR REPLACE FUNCTION {place}.quacklake_claim() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
    source text := format('SELECT DISTINCT %L AS kind, f.%I AS id, f.catalog_id FROM fresh f', TG_ARGV[0], TG_ARGV[1]);
    taken bigint;
BEGIN
    IF TG_ARGV[0] = 'mapping' THEN
        source := 'SELECT DISTINCT ''mapping'' AS kind, f.mapping_id AS id, t.catalog_id FROM fresh f'
            ' JOIN {place}.ducklake_table t ON t.table_id = f.table_id';
    END IF;
    EXECUTE 'INSERT INTO {place}.{owners} ' || source || ' ON CONFLICT DO NOTHING';
    EXECUTE 'SELECT s.id FROM (' || source || ') s JOIN {place}.{owners} o ON o.kind = s.kind AND o.id = s.id'
        ' WHERE o.catalog_id <> s.catalog_id LIMIT 1' INTO taken;
    IF taken IS NOT NULL THEN
        RAISE EXCEPTION 'the id % belongs to another catalog', taken USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NULL;
END $body$
"""

_IN_FILE = """
CREATE OR REPLACE FUNCTION {place}.quacklake_in_file() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
    IF row_security_active('{place}.ducklake_data_file') AND EXISTS (
        SELECT 1 FROM fresh f LEFT JOIN {place}.ducklake_data_file d
        ON d.data_file_id = f.data_file_id AND d.table_id = f.table_id WHERE d.data_file_id IS NULL
    ) THEN
        RAISE EXCEPTION 'a file belongs to another table' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NULL;
END $body$
"""

_MAPPED = """
CREATE OR REPLACE FUNCTION {place}.quacklake_mapped() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
    IF row_security_active('{place}.ducklake_column_mapping') AND EXISTS (
        SELECT 1 FROM fresh f LEFT JOIN {place}.ducklake_column_mapping m
        ON m.mapping_id = f.mapping_id WHERE m.mapping_id IS NULL
    ) THEN
        RAISE EXCEPTION 'a mapping belongs to another catalog' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NULL;
END $body$
"""

_STORE = """
CREATE OR REPLACE FUNCTION {place}.quacklake_store(id bigint, version bigint, names text[], types text[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
    caller text := {caller};
    name text := 'ducklake_inlined_data_' || id || '_' || version;
    columns text := 'row_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT';
BEGIN
    IF NOT EXISTS (
        SELECT 1 FROM {place}.ducklake_table t JOIN {place}.{roles} r ON r.catalog_id = t.catalog_id
        WHERE t.table_id = id AND r.role_name = caller
    ) THEN
        RAISE EXCEPTION 'there is no table %', id USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF version IS NULL THEN
        name := 'ducklake_inlined_delete_' || id;
        columns := 'file_id BIGINT, row_id BIGINT, begin_snapshot BIGINT';
    ELSE
        FOR i IN 1 .. coalesce(array_length(names, 1), 0) LOOP
            IF types[i] IS NULL OR upper(types[i]) !~ '^({types})$' THEN
                RAISE EXCEPTION 'no type for inlined rows: %', types[i] USING ERRCODE = 'insufficient_privilege';
            END IF;
            columns := columns || format(', %I %s', names[i], types[i]);
        END LOOP;
    END IF;
    EXECUTE format('CREATE TABLE IF NOT EXISTS %I.%I(%s)', '{schema}', name, columns);
    PERFORM {place}.quacklake_follow(id, name);
END $body$
"""

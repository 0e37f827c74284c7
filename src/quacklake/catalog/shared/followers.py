"""What happens in PostgreSQL itself when a catalog gets another table for inlined rows or deletes, or loses one.

Such tables come with commits, of whoever writes. Triggers see them when they are registered, or when a snapshot says
that it has noted deletes, and show them to those who could see the others: in the bridge of the catalog if it has
one, and to the roles that are bound to it. When a table is forgotten, its views go first, for nobody could drop what
they show; and roles that own nothing have the rest dropped for them.
"""

from __future__ import annotations

from hashlib import sha256

import sqlalchemy as sa

from quacklake.catalog.shared.conditions import literal
from quacklake.names import quote

REFUSAL = "this catalog is read-only for DuckDB: write through quacklake"
ROLES = "quacklake_role"
"""The table that says which database role is bound to which catalog."""
CALLER = "CASE current_setting('role') WHEN 'none' THEN session_user ELSE current_setting('role') END"
"""Who called a function that runs with the rights of its owner, who is the current user there."""
_PREFIX_BYTES = 40
_OWNER = sa.text(
    "SELECT pg_catalog.pg_get_userbyid(c.relowner), pg_catalog.pg_get_userbyid(c.relowner) = current_user"
    " FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
    " WHERE n.nspname = :place AND c.relname = 'ducklake_catalog'"
)
_INSTALLED = sa.text("SELECT obj_description(to_regprocedure(:name), 'pg_proc')")


def run(connection: sa.Connection, *texts: str) -> None:
    """Run statements as they are written, all in one go."""
    if texts:
        connection.exec_driver_sql(";\n".join(texts), execution_options={"no_parameters": True})


def act_as_owner(connection: sa.Connection, sql_schema: str) -> None:
    """For this transaction, be the role that the tables belong to: what is made then belongs to it as well."""
    owner, is_current = connection.execute(_OWNER, {"place": sql_schema}).one()
    if not is_current:
        run(connection, f"SET LOCAL ROLE {quote(owner)}")


def bridge_prefix(sql_schema: str) -> str:
    """What the names of all bridges into an SQL schema begin with; the id of a catalog comes behind."""
    if sql_schema == "public":
        return "quacklake_bridge_"
    return f"{sql_schema.encode()[:_PREFIX_BYTES].decode(errors='ignore')}_bridge_"


def bridge_mark(sql_schema: str) -> str:
    """What the comment on each of them begins with, so that nobody's own schema is taken for one."""
    return f"quacklake bridge into {sql_schema}: "


def show(bridge: str, name: str, query: str) -> list[str]:
    """The statements that show the rows of a query in a bridge, and refuse to change them.

    A trigger for each row is what makes PostgreSQL ask the other one, which also refuses to change no row.
    """
    view = f"{bridge}.{quote(name)}"
    events, refuse = "INSERT OR UPDATE OR DELETE", f"EXECUTE FUNCTION {bridge}.quacklake_refuse()"
    return [
        f"CREATE OR REPLACE VIEW {view} WITH (security_barrier) AS {query}",
        f"CREATE OR REPLACE TRIGGER quacklake_each INSTEAD OF {events} ON {view} FOR EACH ROW {refuse}",
        f"CREATE OR REPLACE TRIGGER quacklake_all BEFORE {events} ON {view} FOR EACH STATEMENT {refuse}",
    ]


def wait_for_commits(connection: sa.Connection, sql_schema: str) -> None:
    """Until the transaction ends, no catalog commits: each commit begins with a lock on a row of this table."""
    run(connection, f"LOCK TABLE {quote(sql_schema)}.ducklake_catalog IN EXCLUSIVE MODE")


def install_followers(connection: sa.Connection, sql_schema: str) -> None:
    """Make the triggers, unless they are there as they should be; as the owner of the tables."""
    place = quote(sql_schema)
    view = "; ".join(f"EXECUTE format({literal(text)}, bridge, name)" for text in _shown(place))
    words = {
        "place": place,
        "prefix": literal(bridge_prefix(sql_schema)),
        "mark": literal(bridge_mark(sql_schema)),
        "view": view,
        "roles": literal(f"{place}.{ROLES}"),
        "role_table": f"{place}.{ROLES}",
        "schema": literal(sql_schema),
        "caller": CALLER,
    }
    texts = [text.format(**words) for text in (_FOLLOW, _FORGET, *_TRIGGERS)]
    mark = f"quacklake {sha256(''.join(texts).encode()).hexdigest()[:16]}"
    if connection.execute(_INSTALLED, {"name": f"{place}.quacklake_follow(bigint, text)"}).scalar() != mark:
        wait_for_commits(connection, sql_schema)
        run(connection, *texts, f"COMMENT ON FUNCTION {place}.quacklake_follow(bigint, text) IS {literal(mark)}")


def _shown(place: str) -> list[str]:
    """What `show` says, for `format` in PostgreSQL."""
    marks = {'"bridge"': "%1$I", '"name"': "%2$I", place: place.replace("%", "%%")}
    texts = show(quote("bridge"), "name", f"SELECT * FROM {place}.{quote('name')}")
    for known, mark in marks.items():
        texts = [text.replace(known, mark) for text in texts]
    return texts


_FOLLOW = """
CREATE OR REPLACE FUNCTION {place}.quacklake_follow(id bigint, name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
    owner bigint := (SELECT t.catalog_id FROM {place}.ducklake_table t WHERE t.table_id = id LIMIT 1);
    bridge text := {prefix} || owner;
    reader text;
BEGIN
    IF owner IS NULL OR to_regclass(format('%I.%I', {schema}, name)) IS NULL THEN
        RETURN;
    END IF;
    IF obj_description(to_regnamespace(quote_ident(bridge)), 'pg_namespace') = {mark} || owner THEN
        EXECUTE format('GRANT CREATE ON SCHEMA %I TO %I', bridge, current_user);
        {view};
        EXECUTE format('REVOKE CREATE ON SCHEMA %I FROM %I', bridge, current_user);
    END IF;
    IF to_regclass({roles}) IS NOT NULL THEN
        FOR reader IN SELECT r.role_name FROM {role_table} r WHERE r.catalog_id = owner LOOP
            EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I.%I TO %I', {schema}, name, reader);
        END LOOP;
    END IF;
END $body$
"""

_FORGET = """
CREATE OR REPLACE FUNCTION {place}.quacklake_forgotten() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
    bridge text := {prefix} || OLD.catalog_id;
    names text := '^ducklake_inlined_(delete_' || OLD.table_id || '|data_' || OLD.table_id || '_[0-9]+)$';
    is_bound boolean := false;
    stored record;
BEGIN
    IF EXISTS (SELECT 1 FROM {place}.ducklake_table t WHERE t.table_id = OLD.table_id) THEN
        RETURN NULL;
    END IF;
    IF to_regclass({roles}) IS NOT NULL THEN
        is_bound := EXISTS (SELECT 1 FROM {role_table} r WHERE r.role_name = {caller});
    END IF;
    FOR stored IN
        SELECT CASE c.relkind WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END AS kind, n.nspname, c.relname
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relname ~ names AND (
            (c.relkind = 'v' AND n.nspname = bridge
                AND obj_description(n.oid, 'pg_namespace') = {mark} || OLD.catalog_id)
            OR (is_bound AND c.relkind = 'r' AND n.nspname = {schema})
        )
        ORDER BY c.relkind DESC
    LOOP
        EXECUTE format('DROP %s %I.%I', stored.kind, stored.nspname, stored.relname);
    END LOOP;
    RETURN NULL;
END $body$
"""

_TRIGGERS = (
    "REVOKE ALL ON FUNCTION {place}.quacklake_follow(bigint, text) FROM PUBLIC",
    # The name is made from the ids: whoever registers another gets nothing by it.
    """
CREATE OR REPLACE FUNCTION {place}.quacklake_registered() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
    PERFORM {place}.quacklake_follow(
        NEW.table_id, 'ducklake_inlined_data_' || NEW.table_id || '_' || NEW.schema_version
    );
    RETURN NULL;
END $body$
""",
    """
CREATE OR REPLACE FUNCTION {place}.quacklake_noted() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
    id bigint;
BEGIN
    FOR id IN SELECT DISTINCT said[1]::bigint
              FROM regexp_matches(NEW.changes_made, 'inlined_delete:(\\d{{1,18}})', 'g') AS said
    LOOP
        PERFORM {place}.quacklake_follow(id, 'ducklake_inlined_delete_' || id);
    END LOOP;
    RETURN NULL;
END $body$
""",
    "CREATE OR REPLACE TRIGGER quacklake_follow AFTER INSERT ON {place}.ducklake_inlined_data_tables"
    " FOR EACH ROW EXECUTE FUNCTION {place}.quacklake_registered()",
    "CREATE OR REPLACE TRIGGER quacklake_follow AFTER INSERT ON {place}.ducklake_snapshot_changes FOR EACH ROW"
    " WHEN (NEW.changes_made LIKE '%inlined_delete:%') EXECUTE FUNCTION {place}.quacklake_noted()",
    "CREATE OR REPLACE TRIGGER quacklake_forget AFTER DELETE ON {place}.ducklake_table"
    " FOR EACH ROW EXECUTE FUNCTION {place}.quacklake_forgotten()",
)

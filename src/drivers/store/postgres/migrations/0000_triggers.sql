CREATE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'the audit trail is append-only'; END $$;
CREATE TRIGGER audit_append_only BEFORE UPDATE OR TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only();
CREATE FUNCTION audit_loses_only_what_is_over() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE before_ms float8;
BEGIN
  SELECT (entry->'detail'->>'before_ms')::float8 INTO before_ms FROM audit WHERE method = 'audit.retention' ORDER BY seq DESC LIMIT 1;
  IF EXISTS (SELECT FROM gone WHERE gone.method = 'audit.retention' OR gone.at_ms >= coalesce(before_ms, '-infinity')) THEN
    RAISE EXCEPTION 'the audit trail is append-only';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER audit_retention AFTER DELETE ON audit REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION audit_loses_only_what_is_over();
INSERT INTO feed (base) VALUES (0);
ALTER TABLE rate_limits SET UNLOGGED;

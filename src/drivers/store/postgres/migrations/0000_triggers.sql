CREATE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'the audit trail is append-only'; END $$;
CREATE TRIGGER audit_append_only BEFORE TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only();
-- An update may change only the detail of entries that the latest redaction names.
CREATE FUNCTION audit_loses_only_what_is_redacted() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE said json;
BEGIN
  SELECT entry->'detail' INTO said FROM audit WHERE method = 'audit.redaction' ORDER BY seq DESC LIMIT 1;
  IF (SELECT count(*) FROM after) <> (SELECT count(*) FROM before JOIN after USING (seq)) OR EXISTS (
    SELECT FROM before b JOIN after a USING (seq) WHERE said IS NULL OR b.method IN ('audit.retention', 'audit.redaction')
      OR (a.at_ms, a.agent, a.method, a.rules) IS DISTINCT FROM (b.at_ms, b.agent, b.method, b.rules) OR a.allowed IS DISTINCT FROM b.allowed
      -- Compared as text: the old detail may not be valid text in this engine. The detail comes last, and no string before it contains an unescaped quote.
      OR split_part(a.entry::text, ',"detail":', 1) <> split_part(b.entry::text, ',"detail":', 1)
      OR (SELECT count(*) FROM json_object_keys(a.entry)) <> 8
      OR (a.entry->'detail'->>'redacted_by') IS DISTINCT FROM (said->>'redacted_by')
      OR NOT EXISTS (SELECT FROM json_array_elements_text(said->'lines') AS line WHERE line = b.seq::text)) THEN
    RAISE EXCEPTION 'the audit trail is append-only';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER audit_redaction AFTER UPDATE ON audit REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION audit_loses_only_what_is_redacted();
CREATE FUNCTION audit_loses_only_what_is_over() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE before_ms float8;
BEGIN
  SELECT (entry->'detail'->>'before_ms')::float8 INTO before_ms FROM audit WHERE method = 'audit.retention' ORDER BY seq DESC LIMIT 1;
  IF EXISTS (SELECT FROM gone WHERE gone.method IN ('audit.retention', 'audit.redaction') OR gone.at_ms >= coalesce(before_ms, '-infinity')) THEN
    RAISE EXCEPTION 'the audit trail is append-only';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER audit_retention AFTER DELETE ON audit REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION audit_loses_only_what_is_over();
CREATE FUNCTION thread_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'the thread is append-only'; END $$;
CREATE TRIGGER acts_only_erased BEFORE UPDATE ON acts FOR EACH ROW WHEN (NEW.payload IS NOT NULL OR NEW.salt IS NOT NULL
  OR (NEW.num, NEW.record_id, NEW.kind, NEW.decision_id, NEW.at, NEW.commitment) IS DISTINCT FROM (OLD.num, OLD.record_id, OLD.kind, OLD.decision_id, OLD.at, OLD.commitment))
  EXECUTE FUNCTION thread_is_append_only();
CREATE TRIGGER acts_no_delete BEFORE DELETE OR TRUNCATE ON acts FOR EACH STATEMENT EXECUTE FUNCTION thread_is_append_only();
CREATE TRIGGER act_places_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON act_places FOR EACH STATEMENT EXECUTE FUNCTION thread_is_append_only();
CREATE TRIGGER act_nodes_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON act_nodes FOR EACH STATEMENT EXECUTE FUNCTION thread_is_append_only();
CREATE TRIGGER act_checkpoints_append_only BEFORE UPDATE OR TRUNCATE ON act_checkpoints FOR EACH STATEMENT EXECUTE FUNCTION thread_is_append_only();
CREATE FUNCTION act_checkpoint_is_covered() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (SELECT count(*) FROM act_checkpoints WHERE exported = OLD.exported AND number > OLD.number) < 256 THEN
    RAISE EXCEPTION 'the thread is append-only';
  END IF;
  RETURN OLD;
END $$;
CREATE TRIGGER act_checkpoints_only_covered BEFORE DELETE ON act_checkpoints FOR EACH ROW EXECUTE FUNCTION act_checkpoint_is_covered();
CREATE TRIGGER act_head_only_grows BEFORE UPDATE ON act_head FOR EACH ROW WHEN (NEW.seq <= OLD.seq) EXECUTE FUNCTION thread_is_append_only();
CREATE TRIGGER act_head_stays BEFORE DELETE OR TRUNCATE ON act_head FOR EACH STATEMENT EXECUTE FUNCTION thread_is_append_only();
INSERT INTO act_head VALUES (1, 0, repeat('0', 64), '[]');
INSERT INTO feed (base) VALUES (0);
ALTER TABLE rate_limits SET UNLOGGED;
CREATE VIEW tallies AS SELECT agent, category, stakes, status, outcome, settled_by, confidence_at_record, preserve, decisions FROM totals UNION ALL SELECT agent, category, stakes, status, outcome, settled_by, confidence_at_record, preserve, decisions FROM deltas;
-- The values of a combination that decisions are also counted under separately.
CREATE FUNCTION kind_values(agent text, category text, stakes int, status text, outcome text) RETURNS TABLE (field text, value text) LANGUAGE sql IMMUTABLE AS $$
  SELECT f, v FROM (VALUES ('agent', agent), ('category', category), ('stakes', stakes::text), ('status', status), ('outcome', outcome)) AS of_kind (f, v) WHERE v IS NOT NULL
$$;
CREATE VIEW value_tallies AS SELECT field, value, decisions FROM value_totals UNION ALL SELECT field, value, decisions FROM value_deltas
  UNION ALL SELECT v.field, v.value, d.decisions FROM deltas d, kind_values(d.agent, d.category, d.stakes, d.status, d.outcome) v;
-- The values that a decision is counted under, besides its combination.
CREATE FUNCTION counted_values(created_ms float8, project text, tags text[]) RETURNS TABLE (field text, value text) LANGUAGE sql IMMUTABLE AS $$
  SELECT 'day', floor(created_ms / 86400000)::bigint::text
  UNION ALL SELECT 'project', project WHERE project IS NOT NULL
  UNION ALL SELECT DISTINCT 'tag', tag FROM unnest(tags) AS tag
$$;
CREATE FUNCTION decisions_are_added() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO deltas (created_ms, agent, category, stakes, status, outcome, settled_by, confidence_at_record, preserve, decisions) SELECT created_ms, agent, category, stakes, status, outcome, settled_by, confidence_at_record, preserve, 1 FROM added;
  INSERT INTO value_deltas SELECT field, value, count(*) FROM added d, counted_values(d.created_ms, d.project, d.tags) GROUP BY field, value;
  RETURN NULL;
END $$;
CREATE FUNCTION decisions_are_removed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO deltas (created_ms, agent, category, stakes, status, outcome, settled_by, confidence_at_record, preserve, decisions) SELECT created_ms, agent, category, stakes, status, outcome, settled_by, confidence_at_record, preserve, -1 FROM removed;
  INSERT INTO value_deltas SELECT field, value, -count(*) FROM removed d, counted_values(d.created_ms, d.project, d.tags) GROUP BY field, value;
  RETURN NULL;
END $$;
-- Also by review date: servers that hold pending decisions in memory must see the change.
CREATE FUNCTION decisions_are_changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO deltas (created_ms, agent, category, stakes, status, outcome, settled_by, confidence_at_record, preserve, decisions) SELECT created_ms, agent, category, stakes, status, outcome, settled_by, confidence_at_record, preserve, sum(n)
    FROM (SELECT created_ms, review_by_ms, agent, category, stakes, status, outcome, settled_by, confidence_at_record, preserve, 1 AS n FROM added UNION ALL SELECT created_ms, review_by_ms, agent, category, stakes, status, outcome, settled_by, confidence_at_record, preserve, -1 FROM removed) both_of
    GROUP BY created_ms, review_by_ms, agent, category, stakes, status, outcome, settled_by, confidence_at_record, preserve HAVING sum(n) <> 0;
  INSERT INTO value_deltas SELECT field, value, sum(n)
    FROM (SELECT created_ms, project, tags, 1 AS n FROM added UNION ALL SELECT created_ms, project, tags, -1 FROM removed) d,
      counted_values(d.created_ms, d.project, d.tags) GROUP BY field, value HAVING sum(n) <> 0;
  RETURN NULL;
END $$;
CREATE TRIGGER decisions_added AFTER INSERT ON decisions REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION decisions_are_added();
CREATE TRIGGER decisions_removed AFTER DELETE ON decisions REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION decisions_are_removed();
CREATE TRIGGER decisions_changed AFTER UPDATE ON decisions REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION decisions_are_changed();
-- Makes servers read all counts again.
CREATE FUNCTION forget_deltas() RETURNS void LANGUAGE sql AS $$
  DELETE FROM folded_deltas;
  UPDATE feed SET deltas_from = (pg_current_xact_id()::text::bigint + 1)::text::xid8;
$$;
-- For operators who have changed the tables by hand.
CREATE FUNCTION recount_decisions() RETURNS void LANGUAGE plpgsql AS $$ BEGIN
  LOCK TABLE decisions IN SHARE MODE;
  DELETE FROM totals;
  DELETE FROM deltas;
  DELETE FROM value_totals;
  DELETE FROM value_deltas;
  PERFORM forget_deltas();
  INSERT INTO totals SELECT row(agent, category, stakes, status, outcome, settled_by, confidence_at_record, preserve)::text, agent, category, stakes, status, outcome, settled_by, confidence_at_record, preserve, count(*) FROM decisions GROUP BY agent, category, stakes, status, outcome, settled_by, confidence_at_record, preserve;
  INSERT INTO value_totals SELECT v.field, v.value, count(*) FROM decisions d, LATERAL (SELECT * FROM counted_values(d.created_ms, d.project, d.tags)
    UNION ALL SELECT * FROM kind_values(d.agent, d.category, d.stakes, d.status, d.outcome)) v GROUP BY v.field, v.value;
END $$;
-- LZ4 for long values: a quarter of the default's time, and a fifth more space. An engine built without it keeps the default.
DO $$ BEGIN
  ALTER TABLE decisions ALTER doc SET COMPRESSION lz4, ALTER terms SET COMPRESSION lz4;
  ALTER TABLE acts ALTER payload SET COMPRESSION lz4;
  ALTER TABLE embeddings ALTER structure SET COMPRESSION lz4, ALTER function SET COMPRESSION lz4, ALTER "both" SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN NULL;
END $$;

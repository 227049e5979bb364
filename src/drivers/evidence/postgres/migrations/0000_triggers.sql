INSERT INTO evidence_meta VALUES ('chain_format', '3');
INSERT INTO head VALUES (1, 0, '0000000000000000000000000000000000000000000000000000000000000000', '[]');

CREATE FUNCTION evidence_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'evidence is append-only'; END $$;
CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON events FOR EACH STATEMENT EXECUTE FUNCTION evidence_is_append_only();
CREATE TRIGGER nodes_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON nodes FOR EACH STATEMENT EXECUTE FUNCTION evidence_is_append_only();
CREATE TRIGGER checkpoints_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON checkpoints FOR EACH STATEMENT EXECUTE FUNCTION evidence_is_append_only();
CREATE TRIGGER webhook_keys_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON webhook_keys FOR EACH STATEMENT EXECUTE FUNCTION evidence_is_append_only();
CREATE TRIGGER pull_requests_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON pull_requests FOR EACH STATEMENT EXECUTE FUNCTION evidence_is_append_only();
CREATE TRIGGER commits_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON commits FOR EACH STATEMENT EXECUTE FUNCTION evidence_is_append_only();
CREATE TRIGGER head_no_delete BEFORE DELETE OR TRUNCATE ON head FOR EACH STATEMENT EXECUTE FUNCTION evidence_is_append_only();

-- Once for each statement, whatever it adds: the records follow the last one and each other without a gap.
CREATE FUNCTION events_are_in_order() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE first bigint; last bigint; added bigint;
BEGIN
  SELECT min(seq), max(seq), count(*) INTO first, last, added FROM fresh;
  IF added > 0 AND (last - first + 1 <> added OR last <> (SELECT max(seq) FROM events)
      OR first <> 1 + coalesce((SELECT max(seq) FROM events WHERE seq < first), 0)) THEN
    RAISE EXCEPTION 'evidence is append-only, without a gap';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER events_in_order AFTER INSERT ON events REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION events_are_in_order();

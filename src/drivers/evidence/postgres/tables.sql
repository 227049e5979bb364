CREATE TABLE events (
  seq bigint PRIMARY KEY,
  ts text COLLATE "C" NOT NULL,
  source text COLLATE "C" NOT NULL,
  event_type text COLLATE "C" NOT NULL,
  evidence_class text COLLATE "C" NOT NULL,
  payload text COLLATE "C" NOT NULL,
  prev_hash text COLLATE "C" NOT NULL,
  hash text COLLATE "C" NOT NULL
);
CREATE INDEX events_hash ON events USING hash (hash);

CREATE TABLE nodes (
  level integer NOT NULL,
  "index" bigint NOT NULL,
  hash text COLLATE "C" NOT NULL,
  PRIMARY KEY (level, "index")
);

CREATE TABLE head (
  id integer PRIMARY KEY CHECK (id = 1),
  seq bigint NOT NULL,
  hash text NOT NULL,
  frontier text NOT NULL
);
INSERT INTO head VALUES (1, 0, '0000000000000000000000000000000000000000000000000000000000000000', '[]');

CREATE TABLE checkpoints (
  number bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  size bigint NOT NULL,
  head_hash text NOT NULL,
  note text NOT NULL,
  created_at text NOT NULL,
  exported boolean NOT NULL
);

-- By which keys of their payloads records of webhooks are found; written with them. The value is JSON, so that 1 is not "1".
CREATE TABLE webhook_keys (
  field text COLLATE "C" NOT NULL,
  value text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  PRIMARY KEY (field, value, seq)
);

-- Which records are of which pull request; written with them.
CREATE TABLE pull_requests (
  pr_number bigint NOT NULL,
  seq bigint NOT NULL,
  PRIMARY KEY (pr_number, seq)
);

CREATE FUNCTION evidence_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'evidence is append-only'; END $$;
CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON events FOR EACH STATEMENT EXECUTE FUNCTION evidence_is_append_only();
CREATE TRIGGER nodes_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON nodes FOR EACH STATEMENT EXECUTE FUNCTION evidence_is_append_only();
CREATE TRIGGER checkpoints_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON checkpoints FOR EACH STATEMENT EXECUTE FUNCTION evidence_is_append_only();
CREATE TRIGGER webhook_keys_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON webhook_keys FOR EACH STATEMENT EXECUTE FUNCTION evidence_is_append_only();
CREATE TRIGGER pull_requests_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON pull_requests FOR EACH STATEMENT EXECUTE FUNCTION evidence_is_append_only();
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

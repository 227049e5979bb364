CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO meta VALUES ('chain_format', '3');

CREATE TABLE events (
  seq INTEGER PRIMARY KEY,
  ts TEXT NOT NULL,
  source TEXT NOT NULL,
  event_type TEXT NOT NULL,
  evidence_class TEXT NOT NULL,
  payload TEXT NOT NULL,
  prev_hash TEXT NOT NULL,
  hash TEXT NOT NULL
);

CREATE TABLE nodes (
  level INTEGER NOT NULL,
  "index" INTEGER NOT NULL,
  hash TEXT NOT NULL,
  PRIMARY KEY (level, "index")
) WITHOUT ROWID;

CREATE TABLE head (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  seq INTEGER NOT NULL,
  hash TEXT NOT NULL,
  frontier TEXT NOT NULL
);
INSERT INTO head VALUES (1, 0, '0000000000000000000000000000000000000000000000000000000000000000', '[]');

CREATE TABLE checkpoints (
  number INTEGER PRIMARY KEY,
  size INTEGER NOT NULL,
  head_hash TEXT NOT NULL,
  note TEXT NOT NULL,
  created_at TEXT NOT NULL,
  exported INTEGER NOT NULL
);

-- By which keys of their payloads records of webhooks are found; written with them.
CREATE TABLE webhook_keys (
  field TEXT NOT NULL,
  value NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (field, value, seq)
) WITHOUT ROWID;

-- Which records are of which pull request, up to the record `indexed`: filled when it is asked for, as an append would pay a third more.
CREATE TABLE pull_requests (
  pr_number INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (pr_number, seq)
) WITHOUT ROWID;
CREATE TABLE indexed (id INTEGER PRIMARY KEY CHECK (id = 1), seq INTEGER NOT NULL);
INSERT INTO indexed VALUES (1, 0);

CREATE TRIGGER webhook_keys_no_update BEFORE UPDATE ON webhook_keys BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;
CREATE TRIGGER webhook_keys_no_delete BEFORE DELETE ON webhook_keys BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;
CREATE TRIGGER events_no_update BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;
CREATE TRIGGER events_no_delete BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;
CREATE TRIGGER nodes_no_update BEFORE UPDATE ON nodes BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;
CREATE TRIGGER nodes_no_delete BEFORE DELETE ON nodes BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;
CREATE TRIGGER checkpoints_no_update BEFORE UPDATE ON checkpoints BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;
CREATE TRIGGER checkpoints_no_delete BEFORE DELETE ON checkpoints BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;
CREATE TRIGGER head_no_delete BEFORE DELETE ON head BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;

-- REPLACE deletes without a look at the triggers above.
CREATE TRIGGER events_in_order BEFORE INSERT ON events
WHEN new.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM events)
BEGIN SELECT RAISE(ABORT, 'evidence is append-only, without a gap'); END;
CREATE TRIGGER nodes_no_replace BEFORE INSERT ON nodes
WHEN EXISTS (SELECT 1 FROM nodes WHERE level = new.level AND "index" = new."index")
BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;
CREATE TRIGGER checkpoints_no_replace BEFORE INSERT ON checkpoints
WHEN EXISTS (SELECT 1 FROM checkpoints WHERE number = new.number)
BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;

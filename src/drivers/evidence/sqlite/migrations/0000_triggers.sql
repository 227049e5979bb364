INSERT INTO meta VALUES ('chain_format', '3');
INSERT INTO head VALUES (1, 0, '0000000000000000000000000000000000000000000000000000000000000000', '[]');
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
WHEN new.seq IS NOT coalesce((SELECT seq FROM events ORDER BY seq DESC LIMIT 1), 0) + 1
BEGIN SELECT RAISE(ABORT, 'evidence is append-only, without a gap'); END;
CREATE TRIGGER nodes_no_replace BEFORE INSERT ON nodes
WHEN EXISTS (SELECT 1 FROM nodes WHERE level = new.level AND "index" = new."index")
BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;
CREATE TRIGGER checkpoints_no_replace BEFORE INSERT ON checkpoints
WHEN EXISTS (SELECT 1 FROM checkpoints WHERE number = new.number)
BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;

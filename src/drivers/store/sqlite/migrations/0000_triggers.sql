CREATE TRIGGER `audit_no_update` BEFORE UPDATE ON `audit` WHEN new.seq <> old.seq OR new.at <> old.at OR new.at_ms <> old.at_ms
	OR new.agent <> old.agent OR new.method <> old.method OR new.request_id <> old.request_id OR new.ids <> old.ids
	OR new.allowed IS NOT old.allowed OR new.rules <> old.rules OR old.method IN ('audit.retention', 'audit.redaction')
	OR NOT EXISTS (SELECT 1 FROM (SELECT detail FROM `audit` WHERE method = 'audit.redaction' ORDER BY seq DESC LIMIT 1) said,
		json_each(said.detail, '$.lines') line WHERE line.value = old.seq
		AND json_extract(said.detail, '$.redacted_by') = json_extract(new.detail, '$.redacted_by'))
	BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE TRIGGER `audit_no_delete` BEFORE DELETE ON `audit` WHEN old.method IN ('audit.retention', 'audit.redaction') OR old.at_ms >= coalesce((SELECT
	json_extract(detail, '$.before_ms') FROM `audit` WHERE method = 'audit.retention' ORDER BY seq DESC LIMIT 1), -1e999)
	BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE TRIGGER `audit_rules_no_update` BEFORE UPDATE ON `audit_rules` BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE TRIGGER `audit_rules_no_delete` BEFORE DELETE ON `audit_rules` WHEN EXISTS (SELECT 1 FROM `audit` WHERE seq = old.seq) BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE INDEX `decisions_suffix` ON `decisions` (substr(id, 21)) WHERE gone = 0 AND substr(id, 11, 10) = '-decision-';
CREATE TRIGGER `decisions_added` AFTER INSERT ON `decisions` BEGIN
	INSERT INTO `totals` SELECT key, value, 1 FROM (SELECT 'stakes' AS key, new.stakes AS value UNION ALL SELECT 'status', new.status
		UNION ALL SELECT 'category', new.category UNION ALL SELECT 'outcome', new.outcome UNION ALL SELECT 'agent', new.agent
		UNION ALL SELECT 'project', new.project UNION ALL SELECT 'day', cast(new.created_ms / 86400000.0 as integer) - (new.created_ms < cast(new.created_ms / 86400000.0 as integer) * 86400000))
		WHERE value IS NOT NULL AND new.gone = 0 ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER `decisions_changed` AFTER UPDATE OF `gone`, `category`, `stakes`, `status`, `outcome`, `agent`, `project`, `created_ms` ON `decisions` BEGIN
	INSERT INTO `totals` SELECT key, value, -1 FROM (SELECT 'stakes' AS key, old.stakes AS value UNION ALL SELECT 'status', old.status
		UNION ALL SELECT 'category', old.category UNION ALL SELECT 'outcome', old.outcome UNION ALL SELECT 'agent', old.agent
		UNION ALL SELECT 'project', old.project UNION ALL SELECT 'day', cast(old.created_ms / 86400000.0 as integer) - (old.created_ms < cast(old.created_ms / 86400000.0 as integer) * 86400000))
		WHERE value IS NOT NULL AND old.gone = 0 ON CONFLICT DO UPDATE SET count = count - 1;
	INSERT INTO `totals` SELECT key, value, 1 FROM (SELECT 'stakes' AS key, new.stakes AS value UNION ALL SELECT 'status', new.status
		UNION ALL SELECT 'category', new.category UNION ALL SELECT 'outcome', new.outcome UNION ALL SELECT 'agent', new.agent
		UNION ALL SELECT 'project', new.project UNION ALL SELECT 'day', cast(new.created_ms / 86400000.0 as integer) - (new.created_ms < cast(new.created_ms / 86400000.0 as integer) * 86400000))
		WHERE value IS NOT NULL AND new.gone = 0 ON CONFLICT DO UPDATE SET count = count + 1;
	DELETE FROM `totals` WHERE count = 0 AND (key, value) IN (VALUES ('category', old.category), ('stakes', old.stakes), ('status', old.status), ('outcome', old.outcome), ('agent', old.agent), ('project', old.project),
		('day', cast(old.created_ms / 86400000.0 as integer) - (old.created_ms < cast(old.created_ms / 86400000.0 as integer) * 86400000)));
END;
CREATE TRIGGER `tags_added` AFTER INSERT ON `tags` BEGIN
	INSERT INTO `totals` VALUES ('tag', new.tag, 1) ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER `tags_removed` AFTER DELETE ON `tags` BEGIN
	UPDATE `totals` SET count = count - 1 WHERE key = 'tag' AND value = old.tag;
	DELETE FROM `totals` WHERE key = 'tag' AND value = old.tag AND count = 0;
END;
CREATE TRIGGER `acts_only_erased` BEFORE UPDATE ON `acts` WHEN new.payload IS NOT NULL OR new.salt IS NOT NULL OR new.seq <> old.seq OR new.record_id <> old.record_id
	OR new.kind <> old.kind OR new.decision_id IS NOT old.decision_id OR new.at <> old.at OR new.commitment <> old.commitment BEGIN SELECT RAISE(ABORT, 'the thread is append-only'); END;
CREATE TRIGGER `acts_no_delete` BEFORE DELETE ON `acts` BEGIN SELECT RAISE(ABORT, 'the thread is append-only'); END;
CREATE TRIGGER `act_nodes_no_update` BEFORE UPDATE ON `act_nodes` BEGIN SELECT RAISE(ABORT, 'the thread is append-only'); END;
CREATE TRIGGER `act_nodes_no_delete` BEFORE DELETE ON `act_nodes` BEGIN SELECT RAISE(ABORT, 'the thread is append-only'); END;
CREATE TRIGGER `act_head_only_grows` BEFORE UPDATE ON `act_head` WHEN new.seq <= old.seq BEGIN SELECT RAISE(ABORT, 'the thread is append-only'); END;
CREATE TRIGGER `act_head_no_delete` BEFORE DELETE ON `act_head` BEGIN SELECT RAISE(ABORT, 'the thread is append-only'); END;
CREATE TRIGGER `act_checkpoints_no_update` BEFORE UPDATE ON `act_checkpoints` BEGIN SELECT RAISE(ABORT, 'the thread is append-only'); END;
CREATE TRIGGER `act_checkpoints_only_covered` BEFORE DELETE ON `act_checkpoints`
	WHEN (SELECT count(*) FROM `act_checkpoints` WHERE exported = old.exported AND number > old.number) < 256 BEGIN SELECT RAISE(ABORT, 'the thread is append-only'); END;
INSERT INTO `act_head` VALUES (1, 0, printf('%064d', 0), '[]');

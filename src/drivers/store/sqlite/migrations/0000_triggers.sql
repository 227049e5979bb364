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
CREATE TRIGGER `reasons_added` AFTER INSERT ON `reasons` BEGIN
	INSERT INTO `reason_totals` VALUES (new.type, new.confidence, new.outcome, 1, new.uses, new.strength)
		ON CONFLICT DO UPDATE SET decisions = decisions + 1, uses = uses + excluded.uses, strength = strength + excluded.strength;
END;
CREATE TRIGGER `reasons_removed` AFTER DELETE ON `reasons` BEGIN
	UPDATE `reason_totals` SET decisions = decisions - 1, uses = uses - old.uses, strength = strength - old.strength
		WHERE type = old.type AND confidence = old.confidence AND outcome = old.outcome;
	DELETE FROM `reason_totals` WHERE type = old.type AND confidence = old.confidence AND outcome = old.outcome AND decisions = 0;
END;
CREATE INDEX `decisions_suffix` ON `decisions` (substr(id, 21)) WHERE gone = 0 AND substr(id, 11, 10) = '-decision-';
CREATE TRIGGER `decisions_added` AFTER INSERT ON `decisions` WHEN new.gone = 0 BEGIN
	INSERT INTO `deltas` (created_ms, place, outcome_group, decisions) VALUES (new.created_ms, new.place, new.outcome_group, 1);
	INSERT INTO `value_totals` SELECT 'day', new.day, 1 WHERE true ON CONFLICT DO UPDATE SET decisions = decisions + 1;
	INSERT INTO `value_totals` SELECT 'project', new.project, 1 WHERE new.project IS NOT NULL ON CONFLICT DO UPDATE SET decisions = decisions + 1;
	INSERT INTO `value_totals` SELECT 'feature', new.feature, 1 WHERE new.feature IS NOT NULL ON CONFLICT DO UPDATE SET decisions = decisions + 1;
END;
CREATE TRIGGER `decisions_changed` AFTER UPDATE OF `gone`, `place`, `outcome_group`, `created_ms`, `review_by_ms`, `project`, `feature` ON `decisions`
	WHEN old.gone <> new.gone OR old.place <> new.place OR old.outcome_group <> new.outcome_group OR old.created_ms <> new.created_ms
		OR old.review_by_ms IS NOT new.review_by_ms OR old.project IS NOT new.project OR old.feature IS NOT new.feature BEGIN
	INSERT INTO `deltas` (created_ms, place, outcome_group, decisions)
		SELECT old.created_ms, old.place, old.outcome_group, -1 WHERE old.gone = 0;
	INSERT INTO `deltas` (created_ms, place, outcome_group, decisions)
		SELECT new.created_ms, new.place, new.outcome_group, 1 WHERE new.gone = 0;
	INSERT INTO `value_totals` SELECT 'day', old.day, -1 WHERE old.gone = 0 ON CONFLICT DO UPDATE SET decisions = decisions - 1;
	INSERT INTO `value_totals` SELECT 'project', old.project, -1 WHERE old.gone = 0 AND old.project IS NOT NULL ON CONFLICT DO UPDATE SET decisions = decisions - 1;
	INSERT INTO `value_totals` SELECT 'feature', old.feature, -1 WHERE old.gone = 0 AND old.feature IS NOT NULL ON CONFLICT DO UPDATE SET decisions = decisions - 1;
	INSERT INTO `value_totals` SELECT 'day', new.day, 1 WHERE new.gone = 0 ON CONFLICT DO UPDATE SET decisions = decisions + 1;
	INSERT INTO `value_totals` SELECT 'project', new.project, 1 WHERE new.gone = 0 AND new.project IS NOT NULL ON CONFLICT DO UPDATE SET decisions = decisions + 1;
	INSERT INTO `value_totals` SELECT 'feature', new.feature, 1 WHERE new.gone = 0 AND new.feature IS NOT NULL ON CONFLICT DO UPDATE SET decisions = decisions + 1;
	DELETE FROM `value_totals` WHERE (field, value) IN (VALUES ('day', old.day), ('project', old.project), ('feature', old.feature)) AND decisions = 0;
END;
CREATE TRIGGER `tags_added` AFTER INSERT ON `tags` BEGIN
	INSERT INTO `value_totals` SELECT 'tag', new.tag, 1 WHERE true ON CONFLICT DO UPDATE SET decisions = decisions + 1;
END;
CREATE TRIGGER `tags_removed` AFTER DELETE ON `tags` BEGIN
	UPDATE `value_totals` SET decisions = decisions - 1 WHERE field = 'tag' AND value = old.tag;
	DELETE FROM `value_totals` WHERE field = 'tag' AND value = old.tag AND decisions = 0;
END;
CREATE TRIGGER `deltas_added` AFTER INSERT ON `deltas` WHEN new.decisions > 0 BEGIN
	INSERT INTO `totals` SELECT new.place, new.outcome_group, new.decisions WHERE true
		ON CONFLICT DO UPDATE SET decisions = decisions + excluded.decisions;
END;
CREATE TRIGGER `deltas_taken` AFTER INSERT ON `deltas` WHEN new.decisions <= 0 BEGIN
	INSERT INTO `totals` SELECT new.place, new.outcome_group, new.decisions WHERE true
		ON CONFLICT DO UPDATE SET decisions = decisions + excluded.decisions;
	DELETE FROM `totals` WHERE place = new.place AND outcome_group = new.outcome_group AND decisions = 0;
END;
CREATE TRIGGER `deltas_kept` AFTER INSERT ON `deltas` WHEN new.number % 100 = 0 BEGIN
	DELETE FROM `deltas` WHERE number <= new.number - 10000;
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

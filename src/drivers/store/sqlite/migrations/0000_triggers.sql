CREATE TRIGGER `audit_no_update` BEFORE UPDATE ON `audit` BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE TRIGGER `audit_no_delete` BEFORE DELETE ON `audit` WHEN old.method = 'audit.retention' OR old.at_ms >= coalesce((SELECT
	json_extract(detail, '$.before_ms') FROM `audit` WHERE method = 'audit.retention' ORDER BY seq DESC LIMIT 1), -1e999)
	BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE TRIGGER `audit_rules_no_update` BEFORE UPDATE ON `audit_rules` BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE TRIGGER `audit_rules_no_delete` BEFORE DELETE ON `audit_rules` WHEN EXISTS (SELECT 1 FROM `audit` WHERE seq = old.seq) BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE TRIGGER `patterns_added` AFTER INSERT ON `patterns` BEGIN
	INSERT INTO `pattern_totals` (pattern, category, decisions, successes, failures, confirmed, recorders)
		VALUES (new.pattern, new.category, 1, new.outcome = 'success', new.outcome = 'failure', new.outcome = 'success' AND new.confirmed,
			new.outcome = 'success' AND NOT EXISTS (SELECT 1 FROM `patterns` WHERE pattern = new.pattern AND category = new.category
				AND agent = new.agent AND outcome = 'success' AND num <> new.num))
		ON CONFLICT DO UPDATE SET decisions = decisions + 1, successes = successes + excluded.successes, failures = failures + excluded.failures,
			confirmed = confirmed + excluded.confirmed, recorders = recorders + excluded.recorders;
END;
CREATE TRIGGER `patterns_removed` AFTER DELETE ON `patterns` BEGIN
	UPDATE `pattern_totals` SET decisions = decisions - 1, successes = successes - (old.outcome = 'success'),
		failures = failures - (old.outcome = 'failure'), confirmed = confirmed - (old.outcome = 'success' AND old.confirmed),
		recorders = recorders - (old.outcome = 'success' AND NOT EXISTS (SELECT 1 FROM `patterns` WHERE pattern = old.pattern
			AND category = old.category AND agent = old.agent AND outcome = 'success')) WHERE pattern = old.pattern AND category = old.category;
	DELETE FROM `pattern_totals` WHERE pattern = old.pattern AND category = old.category AND decisions = 0;
END;
CREATE TRIGGER `reasons_added` AFTER INSERT ON `reasons` BEGIN
	INSERT INTO `reason_totals` VALUES (new.type, new.confidence, new.outcome, 1, new.uses, new.strength)
		ON CONFLICT DO UPDATE SET decisions = decisions + 1, uses = uses + excluded.uses, strength = strength + excluded.strength;
END;
CREATE TRIGGER `reasons_removed` AFTER DELETE ON `reasons` BEGIN
	UPDATE `reason_totals` SET decisions = decisions - 1, uses = uses - old.uses, strength = strength - old.strength
		WHERE type = old.type AND confidence = old.confidence AND outcome = old.outcome;
	DELETE FROM `reason_totals` WHERE type = old.type AND confidence = old.confidence AND outcome = old.outcome AND decisions = 0;
END;

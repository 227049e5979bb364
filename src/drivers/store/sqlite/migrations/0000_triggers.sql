CREATE TRIGGER `audit_no_update` BEFORE UPDATE ON `audit` BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE TRIGGER `audit_no_delete` BEFORE DELETE ON `audit` WHEN old.method = 'audit.retention' OR old.at_ms >= coalesce((SELECT
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

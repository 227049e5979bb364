CREATE TRIGGER `audit_no_update` BEFORE UPDATE ON `audit` BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER `audit_no_delete` BEFORE DELETE ON `audit` BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER `audit_rules_no_update` BEFORE UPDATE ON `audit_rules` BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER `audit_rules_no_delete` BEFORE DELETE ON `audit_rules` BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;

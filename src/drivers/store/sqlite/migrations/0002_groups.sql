CREATE TABLE `pattern_totals` (
	`pattern` text NOT NULL,
	`category` text NOT NULL,
	`decisions` integer NOT NULL,
	`successes` integer NOT NULL,
	`failures` integer NOT NULL,
	PRIMARY KEY(`pattern`, `category`)
);
--> statement-breakpoint
CREATE INDEX `pattern_totals_best` ON `pattern_totals` ("successes" desc,`pattern`,`category`);--> statement-breakpoint
CREATE INDEX `pattern_totals_category` ON `pattern_totals` (`category`,"successes" desc,`pattern`);--> statement-breakpoint
CREATE TABLE `patterns` (
	`num` integer PRIMARY KEY NOT NULL,
	`pattern` text NOT NULL,
	`category` text NOT NULL,
	`outcome` text NOT NULL,
	`created_ms` real NOT NULL
);
--> statement-breakpoint
CREATE INDEX `patterns_newest` ON `patterns` (`pattern`,`category`,`created_ms`);--> statement-breakpoint
CREATE TABLE `reasons` (
	`num` integer NOT NULL,
	`type` text NOT NULL,
	`uses` integer NOT NULL,
	`strength` real NOT NULL,
	PRIMARY KEY(`num`, `type`)
);
--> statement-breakpoint
CREATE INDEX `edges_type` ON `edges` (`edge_type`,`created_at`);
--> statement-breakpoint
CREATE TRIGGER `patterns_added` AFTER INSERT ON `patterns` BEGIN
	INSERT INTO `pattern_totals` VALUES (new.pattern, new.category, 1, new.outcome = 'success', new.outcome = 'failure')
		ON CONFLICT DO UPDATE SET decisions = decisions + 1, successes = successes + excluded.successes, failures = failures + excluded.failures;
END;
--> statement-breakpoint
CREATE TRIGGER `patterns_removed` AFTER DELETE ON `patterns` BEGIN
	UPDATE `pattern_totals` SET decisions = decisions - 1, successes = successes - (old.outcome = 'success'),
		failures = failures - (old.outcome = 'failure') WHERE pattern = old.pattern AND category = old.category;
	DELETE FROM `pattern_totals` WHERE pattern = old.pattern AND category = old.category AND decisions = 0;
END;
--> statement-breakpoint
INSERT INTO `reasons` SELECT d.num, json_extract(r.value, '$.type'), count(*), sum(json_extract(r.value, '$.strength'))
	FROM `documents` d, json_each(d.doc, '$.reasons') r GROUP BY 1, 2;
--> statement-breakpoint
INSERT INTO `patterns` SELECT num, substr(pattern, 1, 300), category, outcome, created_ms FROM
	(SELECT d.num, trim(json_extract(c.doc, '$.pattern'), char(9, 10, 11, 12, 13, 32, 160)) AS pattern, d.category, d.outcome, d.created_ms
		FROM `decisions` d JOIN `documents` c ON c.num = d.num WHERE d.status = 'reviewed' AND d.outcome IS NOT NULL AND d.gone = 0)
	WHERE pattern <> '';

CREATE TABLE `patterns` (
	`num` integer PRIMARY KEY NOT NULL,
	`pattern` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `patterns_pattern` ON `patterns` (`pattern`);--> statement-breakpoint
CREATE TABLE `reasons` (
	`num` integer NOT NULL,
	`type` text NOT NULL,
	`uses` integer NOT NULL,
	`strength` real NOT NULL,
	PRIMARY KEY(`num`, `type`)
);
--> statement-breakpoint
CREATE INDEX `edges_type` ON `edges` (`edge_type`,`created_at`);--> statement-breakpoint
INSERT INTO `reasons` SELECT d.num, json_extract(r.value, '$.type'), count(*), sum(json_extract(r.value, '$.strength'))
	FROM `documents` d, json_each(d.doc, '$.reasons') r GROUP BY 1, 2;
--> statement-breakpoint
INSERT INTO `patterns` SELECT num, substr(pattern, 1, 300) FROM
	(SELECT num, trim(json_extract(doc, '$.pattern'), char(9, 10, 11, 12, 13, 32, 160)) AS pattern FROM `documents`)
	WHERE pattern <> '';

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
CREATE INDEX `edges_type` ON `edges` (`edge_type`,`created_at`);
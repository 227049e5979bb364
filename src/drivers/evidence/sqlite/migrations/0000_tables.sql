CREATE TABLE `checkpoints` (
	`number` integer PRIMARY KEY NOT NULL,
	`size` integer NOT NULL,
	`head_hash` text NOT NULL,
	`note` text NOT NULL,
	`created_at` text NOT NULL,
	`exported` integer NOT NULL
);
CREATE TABLE `commits` (
	`sha` text NOT NULL,
	`seq` integer NOT NULL,
	PRIMARY KEY(`sha`, `seq`)
) WITHOUT ROWID;
CREATE TABLE `events` (
	`seq` integer PRIMARY KEY NOT NULL,
	`ts` text NOT NULL,
	`source` text NOT NULL,
	`event_type` text NOT NULL,
	`evidence_class` text NOT NULL,
	`payload` text NOT NULL,
	`prev_hash` text NOT NULL,
	`hash` text NOT NULL
);
CREATE TABLE `head` (
	`id` integer PRIMARY KEY NOT NULL,
	`seq` integer NOT NULL,
	`hash` text NOT NULL,
	`frontier` text NOT NULL,
	CONSTRAINT "head_is_one" CHECK(id = 1)
);
CREATE TABLE `indexed` (
	`id` integer PRIMARY KEY NOT NULL,
	`seq` integer NOT NULL,
	CONSTRAINT "indexed_is_one" CHECK(id = 1)
);
CREATE TABLE `meta` (
	`key` text PRIMARY KEY NOT NULL,
	`value` text NOT NULL
) WITHOUT ROWID;
CREATE TABLE `nodes` (
	`level` integer NOT NULL,
	`index` integer NOT NULL,
	`hash` text NOT NULL,
	PRIMARY KEY(`level`, `index`)
) WITHOUT ROWID;
CREATE TABLE `pull_requests` (
	`pr_number` integer NOT NULL,
	`seq` integer NOT NULL,
	PRIMARY KEY(`pr_number`, `seq`)
) WITHOUT ROWID;
CREATE TABLE `webhook_keys` (
	`field` text NOT NULL,
	`value` blob NOT NULL,
	`seq` integer NOT NULL,
	PRIMARY KEY(`field`, `value`, `seq`)
) WITHOUT ROWID;

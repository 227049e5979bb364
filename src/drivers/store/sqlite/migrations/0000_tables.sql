CREATE TABLE `act_checkpoints` (
	`number` integer PRIMARY KEY NOT NULL,
	`size` integer NOT NULL,
	`head_hash` text NOT NULL,
	`note` text NOT NULL,
	`created_at` text NOT NULL,
	`exported` integer NOT NULL
);
CREATE TABLE `act_head` (
	`id` integer PRIMARY KEY NOT NULL,
	`seq` integer NOT NULL,
	`hash` text NOT NULL,
	`frontier` text NOT NULL,
	CONSTRAINT "act_head_is_one" CHECK(id = 1)
);
CREATE TABLE `act_nodes` (
	`level` integer NOT NULL,
	`index` integer NOT NULL,
	`hash` text NOT NULL,
	PRIMARY KEY(`level`, `index`)
) WITHOUT ROWID;
CREATE TABLE `acts` (
	`seq` integer PRIMARY KEY NOT NULL,
	`record_id` text NOT NULL,
	`kind` text NOT NULL,
	`decision_id` text,
	`at` text NOT NULL,
	`payload` text,
	`salt` text,
	`commitment` text NOT NULL
);
CREATE UNIQUE INDEX `acts_record_id_unique` ON `acts` (`record_id`);
CREATE INDEX `acts_decision` ON `acts` (`decision_id`) WHERE decision_id is not null;
CREATE TABLE `audit` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`at` text NOT NULL,
	`at_ms` real NOT NULL,
	`agent` text NOT NULL,
	`method` text NOT NULL,
	`request_id` text NOT NULL,
	`ids` text NOT NULL,
	`allowed` integer,
	`rules` text NOT NULL,
	`detail` text
);
CREATE INDEX `audit_at` ON `audit` (`at_ms`);
CREATE INDEX `audit_method` ON `audit` (`method`);
CREATE TABLE `audit_rules` (
	`rule` text NOT NULL,
	`seq` integer NOT NULL,
	PRIMARY KEY(`rule`, `seq`)
);
CREATE TABLE `decisions` (
	`num` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`revision` integer NOT NULL,
	`seq` integer NOT NULL,
	`source_key` text,
	`category` text,
	`confidence` real,
	`stakes` text NOT NULL,
	`status` text NOT NULL,
	`outcome` text,
	`project` text,
	`feature` text,
	`pr` integer,
	`tags` text NOT NULL,
	`agent` text NOT NULL,
	`created_ms` real NOT NULL,
	`updated_ms` real NOT NULL,
	`review_by_ms` real NOT NULL,
	`confidence_at_record` real,
	`settled_by` text,
	`preserve` integer NOT NULL,
	`reviewed_ms` real,
	`indexed` integer DEFAULT 0 NOT NULL,
	`gone` integer DEFAULT 0 NOT NULL,
	`file_size` integer DEFAULT -1 NOT NULL,
	`file_mtime` real DEFAULT 0 NOT NULL,
	`file_hash` text DEFAULT '' NOT NULL
);
CREATE UNIQUE INDEX `decisions_id_unique` ON `decisions` (`id`);
CREATE UNIQUE INDEX `decisions_seq_unique` ON `decisions` (`seq`);
CREATE UNIQUE INDEX `decisions_source_key` ON `decisions` (`source_key`) WHERE source_key is not null;
CREATE INDEX `decisions_created` ON `decisions` (`created_ms`,`id`) WHERE gone = 0;
CREATE INDEX `decisions_agent` ON `decisions` (`agent`,`created_ms`,`id`) WHERE gone = 0;
CREATE INDEX `decisions_project` ON `decisions` (`project`,`created_ms`,`id`) WHERE gone = 0;
CREATE INDEX `decisions_scored` ON `decisions` (`category`,`confidence_at_record`,`outcome`,`settled_by`,`created_ms`,`agent`,`stakes`) WHERE gone = 0;
CREATE INDEX `decisions_updated` ON `decisions` (`updated_ms`) WHERE gone = 0;
CREATE INDEX `decisions_pr` ON `decisions` (`pr`) WHERE gone = 0 and pr is not null;
CREATE INDEX `decisions_feature` ON `decisions` (`feature`) WHERE gone = 0 and feature is not null;
CREATE INDEX `decisions_status` ON `decisions` (`status`,`created_ms`,`id`,`review_by_ms`) WHERE gone = 0;
CREATE INDEX `decisions_unindexed` ON `decisions` (`created_ms`,`id`) WHERE gone = 0 and indexed = 0;
CREATE TABLE `documents` (
	`num` integer PRIMARY KEY NOT NULL,
	`doc` text NOT NULL
);
CREATE TABLE `edges` (
	`source_id` text NOT NULL,
	`target_id` text NOT NULL,
	`edge_type` text NOT NULL,
	`weight` real NOT NULL,
	`context` text,
	`created_at` text NOT NULL,
	`created_by` text NOT NULL,
	`effective` integer NOT NULL,
	PRIMARY KEY(`source_id`, `target_id`, `edge_type`, `created_by`)
);
CREATE INDEX `edges_target` ON `edges` (`target_id`);
CREATE INDEX `edges_type` ON `edges` (`edge_type`,`created_at`);
CREATE TABLE `embeddings` (
	`num` integer NOT NULL,
	`generation` integer NOT NULL,
	`structure` blob NOT NULL,
	`function` blob,
	`both` blob,
	`shared` integer NOT NULL
);
CREATE UNIQUE INDEX `embeddings_generation` ON `embeddings` (`generation`,`num`);
CREATE TABLE `generations` (
	`number` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`embedder` text NOT NULL,
	`dimensions` integer NOT NULL,
	`state` text NOT NULL
);
CREATE TABLE `keyed_records` (
	`collection` text NOT NULL,
	`key` text NOT NULL,
	`version` integer NOT NULL,
	`value` text NOT NULL,
	`expires_ms` real,
	PRIMARY KEY(`collection`, `key`)
);
CREATE INDEX `keyed_records_expires` ON `keyed_records` (`collection`,`expires_ms`) WHERE expires_ms is not null;
CREATE TABLE `pending_files` (
	`num` integer PRIMARY KEY NOT NULL,
	`revision` integer NOT NULL
);
CREATE TABLE `reasons` (
	`num` integer NOT NULL,
	`type` text NOT NULL,
	`uses` integer NOT NULL,
	`strength` real NOT NULL,
	PRIMARY KEY(`num`, `type`)
);
CREATE TABLE `search_terms` (
	`num` integer PRIMARY KEY NOT NULL,
	`terms` text NOT NULL
);
CREATE TABLE `spellings` (
	`field` text NOT NULL,
	`look` text NOT NULL,
	`value` text NOT NULL,
	PRIMARY KEY(`field`, `look`, `value`)
) WITHOUT ROWID;
CREATE TABLE `tags` (
	`tag` text NOT NULL,
	`num` integer NOT NULL,
	PRIMARY KEY(`tag`, `num`)
) WITHOUT ROWID;
CREATE TABLE `totals` (
	`key` text NOT NULL,
	`value` text NOT NULL,
	`count` integer NOT NULL,
	PRIMARY KEY(`key`, `value`)
) WITHOUT ROWID;

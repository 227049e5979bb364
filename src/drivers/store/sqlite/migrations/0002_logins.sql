CREATE TABLE `logins` (
	`id_hash` text PRIMARY KEY NOT NULL,
	`agent` text NOT NULL,
	`seal` text NOT NULL,
	`used_ms` real NOT NULL,
	`expires_ms` real NOT NULL
);

ALTER TABLE `decisions` ADD `reviewed_ms` real;
--> statement-breakpoint
UPDATE `decisions` SET reviewed_ms = (SELECT round(unixepoch(json_extract(doc, '$.reviewed_at'), 'subsec') * 1000) FROM `documents` WHERE documents.num = decisions.num) WHERE status = 'reviewed';

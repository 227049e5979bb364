DROP INDEX `decisions_scored`;
CREATE INDEX `decisions_settled` ON `decisions` (`agent`,`reviewed_ms`,`confidence_at_record`,`outcome`,`settled_by`,`stakes`,`category`,`created_ms`,`project`,`pr`) WHERE gone = 0 and outcome is not null;
CREATE INDEX `decisions_scored` ON `decisions` (`category`,`confidence_at_record`,`outcome`,`settled_by`,`created_ms`,`agent`,`stakes`,`reviewed_ms`,`project`,`pr`) WHERE gone = 0;

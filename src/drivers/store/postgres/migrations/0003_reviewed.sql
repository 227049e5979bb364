ALTER TABLE "decisions" ADD COLUMN "reviewed_ms" double precision;
--> statement-breakpoint
-- Without escaped zeros and backslashes, of which a reader of JSON chokes on the first; neither stands in a time.
UPDATE decisions SET reviewed_ms = extract(epoch FROM (replace(replace(doc::text, '\\', ''), '\u0000', '')::json ->> 'reviewed_at')::timestamptz) * 1000
	WHERE status = 'reviewed';

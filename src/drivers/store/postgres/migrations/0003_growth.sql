ALTER TABLE "changes" ADD COLUMN "indexed" boolean NOT NULL DEFAULT false;
--> statement-breakpoint
UPDATE changes SET indexed = true WHERE EXISTS (SELECT FROM embeddings e JOIN generations g ON g.number = e.generation WHERE g.state = 'active' AND e.num = changes.num);
--> statement-breakpoint
ALTER TABLE "changes" ALTER COLUMN "indexed" DROP DEFAULT;
--> statement-breakpoint
CREATE INDEX "changes_bare" ON "changes" USING btree ("num") WHERE not indexed;
--> statement-breakpoint
ALTER TABLE "postings" ADD COLUMN "length" integer NOT NULL DEFAULT 0;
--> statement-breakpoint
UPDATE postings p SET length = d.length FROM decisions d WHERE d.num = p.num;
--> statement-breakpoint
ALTER TABLE "postings" ALTER COLUMN "length" DROP DEFAULT;
--> statement-breakpoint
ALTER TABLE "postings" DROP CONSTRAINT "postings_term_num_pk";
--> statement-breakpoint
ALTER TABLE "postings" ADD CONSTRAINT "postings_term_num_pk" PRIMARY KEY ("term","num") INCLUDE ("count","length");
--> statement-breakpoint
ALTER TABLE "postings" SET (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

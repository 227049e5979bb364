CREATE TABLE "act_checkpoints" (
	"number" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "act_checkpoints_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"size" bigint NOT NULL,
	"head_hash" text collate "C" NOT NULL,
	"note" text collate "C" NOT NULL,
	"created_at" text collate "C" NOT NULL,
	"exported" boolean NOT NULL
);
CREATE TABLE "act_head" (
	"id" integer PRIMARY KEY NOT NULL,
	"seq" bigint NOT NULL,
	"hash" text collate "C" NOT NULL,
	"frontier" text collate "C" NOT NULL,
	CONSTRAINT "act_head_is_one" CHECK (id = 1)
);
CREATE TABLE "act_nodes" (
	"level" integer NOT NULL,
	"index" bigint NOT NULL,
	"hash" text collate "C" NOT NULL,
	CONSTRAINT "act_nodes_level_index_pk" PRIMARY KEY("level","index")
);
CREATE TABLE "act_places" (
	"seq" bigint PRIMARY KEY NOT NULL,
	"num" bigint NOT NULL,
	CONSTRAINT "act_places_num_unique" UNIQUE("num")
);
CREATE TABLE "acts" (
	"num" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "acts_num_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"record_id" text collate "C" NOT NULL,
	"kind" text collate "C" NOT NULL,
	"decision_id" text collate "C",
	"at" text collate "C" NOT NULL,
	"payload" text collate "C",
	"salt" text collate "C",
	"commitment" text collate "C" NOT NULL,
	CONSTRAINT "acts_record_id_unique" UNIQUE("record_id")
);
CREATE TABLE "acts_waiting" (
	"num" bigint PRIMARY KEY NOT NULL
);
CREATE TABLE "audit" (
	"seq" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "audit_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"at_ms" double precision NOT NULL,
	"agent" text collate "C" NOT NULL,
	"method" text collate "C" NOT NULL,
	"allowed" boolean,
	"rules" text[] NOT NULL,
	"entry" json NOT NULL
);
CREATE TABLE "changes" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"seq" bigserial NOT NULL,
	"indexed" boolean NOT NULL
);
CREATE TABLE "decisions" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"revision" integer NOT NULL,
	"source_key" text collate "C",
	"category" text collate "C",
	"confidence" double precision,
	"stakes" integer NOT NULL,
	"status" text collate "C" NOT NULL,
	"outcome" text collate "C",
	"project" text collate "C",
	"feature" text collate "C",
	"pr" bigint,
	"tags" text[] NOT NULL,
	"agent" text collate "C" NOT NULL,
	"created_ms" double precision NOT NULL,
	"updated_ms" double precision NOT NULL,
	"review_by_ms" double precision NOT NULL,
	"reviewed_ms" double precision,
	"confidence_at_record" double precision,
	"settled_by" text collate "C",
	"preserve" boolean NOT NULL,
	"terms" text collate "C" NOT NULL,
	"doc" json NOT NULL,
	CONSTRAINT "decisions_source_key_unique" UNIQUE("source_key")
);
CREATE TABLE "edges" (
	"source_id" text collate "C" NOT NULL,
	"target_id" text collate "C" NOT NULL,
	"edge_type" text collate "C" NOT NULL,
	"weight" double precision NOT NULL,
	"context" text collate "C",
	"created_at" text collate "C" NOT NULL,
	"created_by" text collate "C" NOT NULL,
	"effective" boolean NOT NULL,
	CONSTRAINT "edges_source_id_target_id_edge_type_created_by_pk" PRIMARY KEY("source_id","target_id","edge_type","created_by")
);
CREATE TABLE "embeddings" (
	"generation" integer NOT NULL,
	"id" text collate "C" NOT NULL,
	"structure" "bytea" NOT NULL,
	"function" "bytea",
	"both" "bytea",
	"shared" integer NOT NULL,
	CONSTRAINT "embeddings_id_generation_pk" PRIMARY KEY("id","generation")
);
CREATE TABLE "generations" (
	"number" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "generations_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"embedder" text collate "C" NOT NULL,
	"dimensions" integer NOT NULL,
	"state" text collate "C" NOT NULL
);
CREATE TABLE "keyed_records" (
	"collection" text collate "C" NOT NULL,
	"key" text collate "C" NOT NULL,
	"version" integer NOT NULL,
	"value" json NOT NULL,
	"expires_ms" double precision,
	CONSTRAINT "keyed_records_collection_key_pk" PRIMARY KEY("collection","key")
);
CREATE TABLE "rate_limits" (
	"agent" text collate "C" PRIMARY KEY NOT NULL,
	"tokens" double precision NOT NULL,
	"at_ms" double precision NOT NULL,
	"granted" double precision NOT NULL
);
CREATE TABLE "reasons" (
	"id" text collate "C" NOT NULL,
	"type" text collate "C" NOT NULL,
	"uses" integer NOT NULL,
	"strength" double precision NOT NULL,
	CONSTRAINT "reasons_id_type_pk" PRIMARY KEY("id","type")
);
CREATE TABLE "spellings" (
	"field" text collate "C" NOT NULL,
	"look" text collate "C" NOT NULL,
	"value" text collate "C" NOT NULL,
	CONSTRAINT "spellings_field_look_value_pk" PRIMARY KEY("field","look","value")
);
CREATE TABLE "totals" (
	"key" text collate "C" NOT NULL,
	"value" text collate "C" NOT NULL,
	"count" integer NOT NULL,
	CONSTRAINT "totals_key_value_pk" PRIMARY KEY("key","value")
);
CREATE INDEX "acts_decision" ON "acts" USING btree ("decision_id") WHERE decision_id is not null;
CREATE INDEX "audit_at" ON "audit" USING btree ("at_ms");
CREATE INDEX "audit_method" ON "audit" USING btree ("method","seq");
CREATE INDEX "audit_rules" ON "audit" USING gin ("rules");
CREATE INDEX "audit_retention" ON "audit" USING btree ("seq") WHERE method = 'audit.retention';
CREATE INDEX "audit_redaction" ON "audit" USING btree ("seq") WHERE method = 'audit.redaction';
CREATE INDEX "changes_seq" ON "changes" USING btree ("seq");
CREATE INDEX "changes_unindexed" ON "changes" USING btree ("id") WHERE not indexed;
CREATE INDEX "decisions_created" ON "decisions" USING btree ("created_ms","id");
CREATE INDEX "decisions_category" ON "decisions" USING btree ("category","created_ms");
CREATE INDEX "decisions_project" ON "decisions" USING btree ("project","pr");
CREATE INDEX "decisions_pending" ON "decisions" USING btree ("created_ms","id","review_by_ms","stakes") WHERE status = 'pending';
CREATE INDEX "decisions_updated" ON "decisions" USING btree ("updated_ms");
CREATE INDEX "decisions_suffix" ON "decisions" USING btree (substr(id, 21) collate "C");
CREATE INDEX "decisions_tags" ON "decisions" USING gin ("tags");
CREATE INDEX "decisions_confidence" ON "decisions" USING btree (coalesce(confidence, -1),"id");
CREATE INDEX "edges_target" ON "edges" USING btree ("target_id");
CREATE INDEX "edges_type" ON "edges" USING btree ("edge_type","created_at");
CREATE INDEX "keyed_records_expires" ON "keyed_records" USING btree ("collection","expires_ms") WHERE expires_ms is not null;

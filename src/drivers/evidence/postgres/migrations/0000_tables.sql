CREATE TABLE "checkpoints" (
	"number" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "checkpoints_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"size" bigint NOT NULL,
	"head_hash" text collate "C" NOT NULL,
	"note" text collate "C" NOT NULL,
	"created_at" text collate "C" NOT NULL,
	"exported" boolean NOT NULL
);
CREATE TABLE "commits" (
	"sha" text collate "C" NOT NULL,
	"seq" bigint NOT NULL,
	CONSTRAINT "commits_sha_seq_pk" PRIMARY KEY("sha","seq")
);
CREATE TABLE "events" (
	"seq" bigint PRIMARY KEY NOT NULL,
	"ts" text collate "C" NOT NULL,
	"source" text collate "C" NOT NULL,
	"event_type" text collate "C" NOT NULL,
	"evidence_class" text collate "C" NOT NULL,
	"payload" text collate "C" NOT NULL,
	"prev_hash" text collate "C" NOT NULL,
	"hash" text collate "C" NOT NULL
);
CREATE TABLE "evidence_meta" (
	"key" text collate "C" PRIMARY KEY NOT NULL,
	"value" text collate "C" NOT NULL
);
CREATE TABLE "head" (
	"id" integer PRIMARY KEY NOT NULL,
	"seq" bigint NOT NULL,
	"hash" text collate "C" NOT NULL,
	"frontier" text collate "C" NOT NULL,
	CONSTRAINT "head_is_one" CHECK (id = 1)
);
CREATE TABLE "nodes" (
	"level" integer NOT NULL,
	"index" bigint NOT NULL,
	"hash" text collate "C" NOT NULL,
	CONSTRAINT "nodes_level_index_pk" PRIMARY KEY("level","index")
);
CREATE TABLE "pull_requests" (
	"pr_number" bigint NOT NULL,
	"seq" bigint NOT NULL,
	CONSTRAINT "pull_requests_pr_number_seq_pk" PRIMARY KEY("pr_number","seq")
);
CREATE TABLE "webhook_keys" (
	"field" text collate "C" NOT NULL,
	"value" text collate "C" NOT NULL,
	"seq" bigint NOT NULL,
	CONSTRAINT "webhook_keys_field_value_seq_pk" PRIMARY KEY("field","value","seq")
);

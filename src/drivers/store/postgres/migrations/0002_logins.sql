CREATE TABLE "logins" (
	"id_hash" text collate "C" PRIMARY KEY NOT NULL,
	"agent" text collate "C" NOT NULL,
	"seal" text collate "C" NOT NULL,
	"used_ms" double precision NOT NULL,
	"expires_ms" double precision NOT NULL
);

/** Every setting once: its names, default, meaning and form. */
import { homedir } from 'node:os'
import { join } from 'node:path'
import {
  credentials,
  fileOrPostgres,
  list,
  oneOf,
  optional,
  path,
  paths,
  postgresUrl,
  text,
  url,
  vectorUrl,
  whole,
} from './read.ts'

export interface Setting<T> {
  /** Path in the YAML file. */
  yaml: string
  env: string
  flag: string
  default: T | (() => T)
  /** One sentence for the reference and the help. */
  about: string
  secret?: boolean
  /** Reads a value of the YAML file or a text. @throws Error whose message says what was expected */
  read(value: unknown): T
}

const setting = <T>(
  yaml: string,
  env: string,
  fallback: T | (() => T),
  read: (value: unknown) => T,
  about: string,
  secret = false,
): Setting<T> => ({
  yaml,
  env,
  flag: `--${env
    .replace(/^CSTP_/, '')
    .toLowerCase()
    .replaceAll('_', '-')}`,
  default: fallback,
  read,
  about,
  secret,
})

export const settings = {
  data_dir: setting(
    'data_dir',
    'CSTP_DATA_DIR',
    () => join(homedir(), '.cstp'),
    path,
    'Folder of everything embedded: decisions, catalogue, token.',
  ),
  host: setting('server.host', 'CSTP_HOST', '127.0.0.1', text, 'Address to listen on.'),
  port: setting(
    'server.port',
    'CSTP_PORT',
    9991,
    whole(0, 65535),
    'Port to listen on; 0 takes a free one and prints it.',
  ),
  public_url: setting(
    'server.public_url',
    'CSTP_PUBLIC_URL',
    null,
    optional(url('http', 'https')),
    'Address in the agent card, where it is not the listening one.',
  ),
  cors_origins: setting(
    'server.cors_origins',
    'CSTP_CORS_ORIGINS',
    ['*'],
    list,
    'Origins that browsers may call from, separated by commas.',
  ),
  max_body_bytes: setting(
    'server.max_body_bytes',
    'CSTP_MAX_BODY_BYTES',
    4_194_304,
    whole(1_024, 1_073_741_824),
    'Largest request body in bytes; agents with the evidence scope may send 16 MiB.',
  ),
  rate_limit: setting(
    'server.rate_limit',
    'CSTP_RATE_LIMIT',
    6_000,
    whole(0, 1_000_000_000),
    'Requests a minute for each agent; 0 for no limit.',
  ),
  trust_proxy: setting(
    'server.trust_proxy',
    'CSTP_TRUST_PROXY',
    0,
    whole(0, 32),
    'Hops of X-Forwarded-For to trust when failed logins are counted.',
  ),
  dashboard: setting(
    'server.dashboard',
    'CSTP_DASHBOARD',
    'on',
    oneOf('on', 'off'),
    'Whether people can look at /dashboard; off removes the pages and their logins.',
  ),
  auth_tokens: setting(
    'auth.tokens',
    'CSTP_AUTH_TOKENS',
    null,
    optional(credentials),
    'Accepted agent:token pairs, separated by commas; without any, a token for agent local is made at the first start.',
    true,
  ),
  admin_agents: setting(
    'auth.admin_agents',
    'CSTP_ADMIN_AGENTS',
    null,
    optional(list),
    'Agents that also have the admin scope; by default the first one of the tokens.',
  ),
  evidence_agents: setting(
    'auth.evidence_agents',
    'CSTP_EVIDENCE_AGENTS',
    null,
    optional(list),
    'Agents that also have the evidence scope; by default the first one of the tokens.',
  ),
  store_url: setting(
    'store.url',
    'CSTP_STORE_URL',
    null,
    optional(postgresUrl),
    'PostgreSQL that holds the decisions and all that several servers agree on; by default the data directory does.',
  ),
  vector_url: setting(
    'vectors.url',
    'CSTP_VECTOR_URL',
    null,
    optional(vectorUrl),
    'Vector database: a folder or s3:// for LanceDB, postgres:// for pgvector; by default exact search over the vectors that the store keeps.',
  ),
  embedder: setting(
    'embedder.driver',
    'CSTP_EMBEDDER',
    'local',
    oneOf('local', 'huggingface', 'openai', 'hash'),
    'What turns text into vectors: the model in this program, a remote one, or hash for tests.',
  ),
  embedding_model: setting(
    'embedder.model',
    'CSTP_EMBEDDING_MODEL',
    null,
    optional(text),
    'Model of a remote embedder; it must return 768 dimensions.',
  ),
  embedding_url: setting(
    'embedder.url',
    'CSTP_EMBEDDING_URL',
    null,
    optional(url('http', 'https')),
    'Address of a remote embedder.',
  ),
  embedding_api_key: setting(
    'embedder.api_key',
    'CSTP_EMBEDDING_API_KEY',
    null,
    optional(text),
    'Key of a remote embedder; for huggingface HF_TOKEN is taken where this is not given.',
    true,
  ),
  guardrails_paths: setting(
    'guardrails.paths',
    'GUARDRAILS_PATHS',
    null,
    optional(paths),
    'Directories of guardrail files, separated by colons; the shipped rules where not given.',
  ),
  record_guardrails: setting(
    'guardrails.record',
    'CSTP_RECORD_GUARDRAILS',
    'warn',
    oneOf('off', 'warn', 'block'),
    'What a violated guardrail does to a record: nothing, a warning in the answer, or a refusal.',
  ),
  tracker_ttl_minutes: setting(
    'tracker.ttl_minutes',
    'CSTP_TRACKER_TTL_MINUTES',
    120,
    whole(1, 525_600),
    'Minutes without an input after which a deliberation session ends.',
  ),
  provenance_db: setting(
    'evidence.database',
    'PROVENANCE_DB',
    null,
    optional(fileOrPostgres),
    'Evidence database, a file or postgres://; by default the one of CSTP_STORE_URL, else provenance.db in the data directory.',
  ),
  evidence_key: setting(
    'evidence.key',
    'CSTP_EVIDENCE_KEY',
    null,
    optional(path),
    'File of the Ed25519 key that signs checkpoints, PKCS#8 in PEM; by default made in keys/ of the data directory.',
  ),
  bundle_dir: setting(
    'evidence.bundles',
    'CSTP_BUNDLE_DIR',
    null,
    optional(path),
    'Folder below which evidence bundles are written; by default bundles/ in the data directory.',
  ),
  github_webhook_secret: setting(
    'github.webhook_secret',
    'CSTP_GITHUB_WEBHOOK_SECRET',
    null,
    optional(text),
    'Secret of the GitHub webhook; without it there is no webhook.',
    true,
  ),
  github_bots: setting(
    'github.bots',
    'CSTP_GITHUB_BOTS',
    [],
    list,
    'Further GitHub accounts that are agents, not people, separated by commas; accounts of type Bot always are.',
  ),
  log_level: setting(
    'log.level',
    'CSTP_LOG_LEVEL',
    'info',
    oneOf('debug', 'info', 'warn', 'error'),
    'Least severe line that is logged.',
  ),
}

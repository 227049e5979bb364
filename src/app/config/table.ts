/** Every setting, declared once: its names, default, reader and meaning. */
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
  roles,
  text,
  url,
  vectorUrl,
  webhookSecret,
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
    'Data directory: decisions, catalogue, evidence, keys, token.',
  ),
  host: setting('server.host', 'CSTP_HOST', '127.0.0.1', text, 'Address to listen on.'),
  port: setting(
    'server.port',
    'CSTP_PORT',
    9991,
    whole(0, 65535),
    'Port to listen on; 0 picks a free one and prints it.',
  ),
  public_url: setting(
    'server.public_url',
    'CSTP_PUBLIC_URL',
    null,
    optional(url('http', 'https')),
    'Address in the agent card, if it differs from the listening address.',
  ),
  cors_origins: setting(
    'server.cors_origins',
    'CSTP_CORS_ORIGINS',
    ['*'],
    list,
    'Origins that browsers may call from, comma-separated.',
  ),
  max_body_bytes: setting(
    'server.max_body_bytes',
    'CSTP_MAX_BODY_BYTES',
    4_194_304,
    whole(1_024, 1_073_741_824),
    'Largest request body in bytes; agents with the evidence scope may send 16 MiB.',
  ),
  body_bytes_in_flight: setting(
    'server.body_bytes_in_flight',
    'CSTP_BODY_BYTES_IN_FLIGHT',
    134_217_728,
    whole(1_048_576, 68_719_476_736),
    'Bytes of request bodies in memory at once; an agent may have half of them, all requests without credentials a quarter together.',
  ),
  rate_limit: setting(
    'server.rate_limit',
    'CSTP_RATE_LIMIT',
    6_000,
    whole(0, 1_000_000_000),
    'Requests per minute for each agent; 0 for no limit.',
  ),
  trust_proxy: setting(
    'server.trust_proxy',
    'CSTP_TRUST_PROXY',
    0,
    whole(0, 32),
    'Trusted hops of X-Forwarded-For when failed logins are counted.',
  ),
  dashboard: setting(
    'server.dashboard',
    'CSTP_DASHBOARD',
    'on',
    oneOf('on', 'off'),
    'Serves /dashboard; off removes the pages and their logins.',
  ),
  auth_tokens: setting(
    'auth.tokens',
    'CSTP_AUTH_TOKENS',
    null,
    optional(credentials),
    'Accepted agent:token pairs, comma-separated, tokens of at least 16 characters; without any, the first start creates tokens for the agents local and admin.',
    true,
  ),
  admin_agents: setting(
    'auth.admin_agents',
    'CSTP_ADMIN_AGENTS',
    [],
    list,
    'Agents that also have the scope admin: everything an operator does, for people only.',
  ),
  evidence_agents: setting(
    'auth.evidence_agents',
    'CSTP_EVIDENCE_AGENTS',
    [],
    list,
    'Agents that also have the scope evidence: they bring observed events, so that no model should be one of them.',
  ),
  curators: setting(
    'auth.curators',
    'CSTP_CURATORS',
    [],
    list,
    'Agents that also have the scope curate: they may change what others recorded.',
  ),
  approvers: setting(
    'auth.approvers',
    'CSTP_APPROVERS',
    [],
    list,
    'Agents that also have the scope approve; such a token may not write, unless it has admin.',
  ),
  store_url: setting(
    'store.url',
    'CSTP_STORE_URL',
    null,
    optional(postgresUrl),
    'PostgreSQL for decisions and everything that several servers share; by default the data directory.',
  ),
  vector_url: setting(
    'vectors.url',
    'CSTP_VECTOR_URL',
    null,
    optional(vectorUrl),
    'Vector database: a folder or s3:// for LanceDB, postgres:// for pgvector; by default exact search over the vectors in the store.',
  ),
  embedder: setting(
    'embedder.driver',
    'CSTP_EMBEDDER',
    'local',
    oneOf('local', 'huggingface', 'openai', 'hash'),
    'What turns text into vectors: local is the built-in model, huggingface and openai are remote, hash is for tests.',
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
    'Key of a remote embedder; huggingface falls back to HF_TOKEN.',
    true,
  ),
  guardrails_paths: setting(
    'guardrails.paths',
    'GUARDRAILS_PATHS',
    null,
    optional(paths),
    'Directories of guardrail files, separated by colons; by default the shipped rules.',
  ),
  record_guardrails: setting(
    'guardrails.record',
    'CSTP_RECORD_GUARDRAILS',
    'warn',
    oneOf('off', 'warn', 'block'),
    'What a violated guardrail does when a decision is recorded: nothing, a warning in the answer, or a refusal.',
  ),
  agent_bytes_per_day: setting(
    'store.agent_bytes_per_day',
    'CSTP_AGENT_BYTES_PER_DAY',
    1_073_741_824,
    whole(0, Number.MAX_SAFE_INTEGER),
    'Bytes that an agent may write in a day (UTC): decisions, thoughts, evidence, and lines of the trail that its checks leave; 0 for no limit.',
  ),
  approver_roles: setting(
    'approvals.roles',
    'CSTP_APPROVER_ROLES',
    {},
    roles,
    'Roles that rules name as approvers, with their agents: release-managers=alice+bob,security=carol.',
  ),
  webhook_url: setting(
    'approvals.webhook_url',
    'CSTP_WEBHOOK_URL',
    null,
    optional(url('http', 'https')),
    'Address that receives signed notices of approvals; redirects are not followed.',
  ),
  webhook_secret: setting(
    'approvals.webhook_secret',
    'CSTP_WEBHOOK_SECRET',
    null,
    optional(webhookSecret),
    'Secret that signs the notices (Standard Webhooks): whsec_ and 24 to 64 bytes in base64.',
    true,
  ),
  min_stability_days: setting(
    'attribution.min_stability_days',
    'CSTP_MIN_STABILITY_DAYS',
    3,
    whole(0, 3_650),
    'Fewest days without a revert after which attributeOutcomes may call a merged pull request stable; less needs the scope admin.',
  ),
  attribute_by_age: setting(
    'attribution.by_age',
    'CSTP_ATTRIBUTE_BY_AGE',
    'off',
    oneOf('on', 'off'),
    'Whether age alone settles decisions of whose pull request nothing is known; such outcomes enter no score and no breaker.',
  ),
  tracker_ttl_minutes: setting(
    'tracker.ttl_minutes',
    'CSTP_TRACKER_TTL_MINUTES',
    120,
    whole(1, 525_600),
    'Minutes without input after which a deliberation session ends.',
  ),
  provenance_db: setting(
    'evidence.database',
    'PROVENANCE_DB',
    null,
    optional(fileOrPostgres),
    'Evidence database, a file or postgres://; by default that of CSTP_STORE_URL, else provenance.db in the data directory.',
  ),
  evidence_key: setting(
    'evidence.key',
    'CSTP_EVIDENCE_KEY',
    null,
    optional(path),
    'File of the Ed25519 key that signs checkpoints, PKCS#8 in PEM; by default created in keys/ of the data directory.',
  ),
  bundle_dir: setting(
    'evidence.bundles',
    'CSTP_BUNDLE_DIR',
    null,
    optional(path),
    'Folder of evidence bundles; by default bundles/ in the data directory.',
  ),
  github_webhook_secret: setting(
    'github.webhook_secret',
    'CSTP_GITHUB_WEBHOOK_SECRET',
    null,
    optional(text),
    'Secret of the GitHub webhook; without it the webhook is off.',
    true,
  ),
  github_bots: setting(
    'github.bots',
    'CSTP_GITHUB_BOTS',
    [],
    list,
    'Further GitHub accounts that are agents, not people, comma-separated; accounts of type Bot always are.',
  ),
  log_level: setting(
    'log.level',
    'CSTP_LOG_LEVEL',
    'info',
    oneOf('debug', 'info', 'warn', 'error'),
    'Lowest level that is logged.',
  ),
}

/** Settings of the server: where it listens, and what it accepts. */
import { duration, list, oneOf, optional, setting, text, url, whole } from './read.ts'

export const serverSettings = {
  host: setting('server.host', '127.0.0.1', text, 'Address to listen on.'),
  port: setting('server.port', 9991, whole(0, 65535), 'Port to listen on; 0 picks a free one and prints it.'),
  idle_exit: setting(
    'server.idle_exit',
    28_800,
    duration,
    'How long a service that a client started on demand runs without a call, such as 8h, 30m or 90s; 0: clients start none.',
  ),
  public_url: setting(
    'server.public_url',
    null,
    optional(url('http', 'https')),
    'Address published in the agent card, if it differs from the listening address.',
  ),
  cors_origins: setting('server.cors_origins', ['*'], list, 'Origins that browsers may call from, comma-separated.'),
  max_body_bytes: setting(
    'server.max_body_bytes',
    4_194_304,
    whole(1_024, 1_073_741_824),
    'Maximum size of a request body in bytes; agents with the scope evidence may send 16 MiB.',
  ),
  body_bytes_in_flight: setting(
    'server.body_bytes_in_flight',
    134_217_728,
    whole(1_048_576, 68_719_476_736),
    'Maximum total size in bytes of the request bodies in memory, and of the answers that are not read yet; one agent may use half of each, all requests without credentials together a quarter.',
  ),
  rate_limit: setting(
    'server.rate_limit',
    6_000,
    whole(0, 1_000_000_000),
    'Requests per minute for each agent, with bursts of up to a sixth of them (up to 100 if the limit is below 600); 0 for no limit.',
  ),
  workspaces_memory: setting(
    'server.workspaces_memory',
    1_610_612_736,
    whole(0, 1_099_511_627_776),
    'Resident memory of the process in bytes above which workspaces are closed early, first the one that was not called for the longest time; 0 for no limit.',
  ),
  trust_proxy: setting(
    'server.trust_proxy',
    0,
    whole(0, 32),
    'Number of trusted proxies in X-Forwarded-For, used to count failed logins by client address.',
  ),
  dashboard: setting(
    'server.dashboard',
    'on',
    oneOf('on', 'off'),
    'Serves /dashboard; off removes the pages and their logins.',
  ),
  telemetry_audit: setting(
    'telemetry.audit',
    'cstp',
    oneOf('cstp', 'ocsf', 'off'),
    'Form in which the audit trail is sent as OpenTelemetry logs, if OTEL_EXPORTER_OTLP_ENDPOINT is set: as it is, as OCSF 1.5, or not at all.',
  ),
  telemetry_texts: setting(
    'telemetry.texts',
    'off',
    oneOf('off', 'on'),
    'Whether these logs contain what agents and people wrote; off sends names, ids, digests and verdicts only.',
  ),
}

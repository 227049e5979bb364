/**
 * OpenTelemetry: a span for each call, in the caller's trace, and the audit trail as logs. The standard variables `OTEL_*` turn it on; without
 * them no module of it is loaded.
 * @see https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
 */
import type { Observer } from '../../core/observed.ts'
import type { Metrics } from '../../surfaces/http/metrics.ts'
import { ConfigError } from '../config/config.ts'
import type { AuditLogsOptions } from './audit-logs.ts'

interface Telemetry extends Pick<Observer, 'ended' | 'judged'> {
  /** Sends what is waiting, for some seconds at most. */
  close(): Promise<void>
}

export interface TelemetryOptions extends AuditLogsOptions {
  env: Record<string, string | undefined>
}

type Signal = 'TRACES' | 'LOGS'

const protocol = 'http/protobuf'

/** The address to which a signal is sent, before the library adds the path; null if it is off. */
function endpointOf(env: TelemetryOptions['env'], signal: Signal, problems: string[]): string | null {
  const names = [`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`, 'OTEL_EXPORTER_OTLP_ENDPOINT']
  const name = names.find((one) => (env[one] ?? '') !== '')
  const isOff = env.OTEL_SDK_DISABLED?.toLowerCase() === 'true' || env[`OTEL_${signal}_EXPORTER`] === 'none'
  if (name === undefined || isOff) return null
  const url = env[name]!
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
    problems.push(`${name}: expected an address that begins with http:// or https://; received ${JSON.stringify(url)}`)
  const given = env[`OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`] ?? env.OTEL_EXPORTER_OTLP_PROTOCOL ?? protocol
  if (given !== protocol)
    problems.push(
      `OTEL_EXPORTER_OTLP_PROTOCOL: expected ${protocol}, which collectors take at port 4318; received ${JSON.stringify(given)}`,
    )
  return url
}

/** @throws ConfigError if a variable has a value that would send nothing */
async function openTelemetry(options: TelemetryOptions): Promise<Telemetry | null> {
  const problems: string[] = []
  const [traces, logs] = (['TRACES', 'LOGS'] as const).map((signal) => endpointOf(options.env, signal, problems))
  if (problems.length > 0) throw new ConfigError(problems)
  const sendsLogs = logs !== null && options.settings.telemetry_audit !== 'off'
  if (traces === null && !sendsLogs) return null
  const { openSpans, reportProblems } = await import('./spans.ts')
  reportProblems(options.log)
  const spans = traces === null ? null : openSpans(options.env, options.workspace)
  const trail = sendsLogs ? (await import('./audit-logs.ts')).followAudit(options) : null
  return {
    ended: (call) => spans?.ended(call),
    judged: (given) => spans?.judged(given),
    async close() {
      await Promise.all([spans?.close(), trail?.close()])
    },
  }
}

/**
 * Notifies the metrics, and telemetry if it is on.
 * @param options absent for commands that end soon
 * @throws ConfigError
 */
export async function openObserver(
  metrics: Pick<Metrics, 'call' | 'verdict' | 'astray' | 'passed'>,
  options: TelemetryOptions | null,
): Promise<Telemetry & Observer> {
  const telemetry = options && (await openTelemetry(options))
  return {
    ended(call) {
      metrics.call(call.method, call.code, call.duration_ms)
      telemetry?.ended(call)
    },
    judged(given) {
      metrics.verdict(given.verdict, given.mode)
      telemetry?.judged(given)
    },
    ranAstray: metrics.astray,
    passed: metrics.passed,
    close: async () => telemetry?.close(),
  }
}

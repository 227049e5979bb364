/** Spans of calls: each is made when its call has ended, as a child of the caller's span. No text of a call is in it. */
import { DiagLogLevel, diag, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { getNumberFromEnv, parseTraceParent } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import {
  defaultResource,
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
} from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { Log } from '../../core/log.ts'
import type { EndedCall, GivenVerdict, Observer } from '../../core/observed.ts'
import { serviceName, version } from '../../core/version.ts'

/** Verdicts whose call does not end with a span are forgotten in the order in which they came. */
const mostVerdicts = 10_000

type Env = Record<string, string | undefined>

/** Name and version of the service; `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` come first. */
export const resourceOf = (workspace?: string): Resource =>
  defaultResource()
    .merge(
      resourceFromAttributes({
        ...{ 'service.name': serviceName, 'service.version': version },
        ...(workspace !== undefined && { 'cstp.workspace': workspace }),
      }),
    )
    .merge(detectResources({ detectors: [envDetector] }))

/** Failures of the exporter become warnings of the service, once for all signals. */
export function reportProblems(log: Log): void {
  const report = (message: string) => log('warn', 'telemetry', { problem: message.slice(0, 500) })
  const nothing = () => {}
  const logger = { error: report, warn: report, info: nothing, debug: nothing, verbose: nothing }
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
}

/** The sampler of `OTEL_TRACES_SAMPLER`; by default every call is kept whose caller keeps its own. */
function samplerOf({ OTEL_TRACES_SAMPLER: name = '', OTEL_TRACES_SAMPLER_ARG: given }: Env): Sampler {
  const ratio = Number(given ?? 1)
  const kinds: Record<string, () => Sampler> = {
    always_on: () => new AlwaysOnSampler(),
    always_off: () => new AlwaysOffSampler(),
    traceidratio: () => new TraceIdRatioBasedSampler(Number.isFinite(ratio) ? ratio : 1),
  }
  const root = (kinds[name.replace(/^parentbased_/, '')] ?? kinds.always_on!)()
  return name in kinds ? root : new ParentBasedSampler({ root })
}

/** JSON-RPC codes of failures of the service; all others are answers to the caller. */
const isFailure = (code: number): boolean => code === -32_603 || code === -32_010

export function openSpans(
  env: Env,
  workspace?: string,
): Pick<Observer, 'ended' | 'judged'> & { close(): Promise<void> } {
  const processor = new BatchSpanProcessor({
    exporter: new OTLPTraceExporter(),
    scheduledDelayMillis: getNumberFromEnv('OTEL_BSP_SCHEDULE_DELAY') ?? 5_000,
    maxQueueSize: getNumberFromEnv('OTEL_BSP_MAX_QUEUE_SIZE') ?? 2_048,
    maxExportBatchSize: getNumberFromEnv('OTEL_BSP_MAX_EXPORT_BATCH_SIZE') ?? 512,
  })
  const provider = new TracerProvider({
    resource: resourceOf(workspace),
    sampler: samplerOf(env),
    spanProcessors: [processor],
  })
  const tracer = provider.getTracer(serviceName, version)
  const verdicts = new Map<string, GivenVerdict>()

  function ended({ method, agent, request_id, code, duration_ms, traceparent, tool }: EndedCall): void {
    const given = verdicts.get(request_id)
    verdicts.delete(request_id)
    const parent = traceparent ? parseTraceParent(traceparent) : null
    const context = parent ? trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true }) : ROOT_CONTEXT
    const end = Date.now()
    const span = tracer.startSpan(
      // An unknown method's name is arbitrary text.
      code === -32_601 ? 'unknown method' : method,
      {
        kind: SpanKind.SERVER,
        startTime: end - duration_ms,
        attributes: {
          'rpc.system.name': 'jsonrpc',
          'rpc.method': method.slice(0, 64),
          'cstp.request_id': request_id,
          'gen_ai.agent.id': agent,
          ...(code !== 0 && { 'rpc.response.status_code': String(code) }),
          ...(tool && {
            'gen_ai.operation.name': 'execute_tool',
            'gen_ai.tool.name': tool.name,
            ...(tool.call_id !== null && { 'gen_ai.tool.call.id': tool.call_id }),
          }),
          ...(given && {
            'cstp.verdict': given.verdict,
            'cstp.mode': given.mode,
            'cstp.rules': [...given.rules],
            'cstp.evaluation_id': given.record_id,
          }),
        },
      },
      context,
    )
    if (isFailure(code)) span.setStatus({ code: SpanStatusCode.ERROR })
    span.end(end)
  }

  return {
    ended,
    judged(given) {
      verdicts.set(given.request_id, given)
      const [oldest] = verdicts.keys()
      if (verdicts.size > mostVerdicts && oldest !== undefined) verdicts.delete(oldest)
    },
    async close() {
      await provider.forceFlush({ timeoutMillis: 5_000 }).catch((error) => diag.warn(String(error)))
      await provider.shutdown()
    },
  }
}

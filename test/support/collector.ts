/** A collector of OpenTelemetry: takes OTLP over HTTP, which it reads with OpenTelemetry's own published messages, and keeps what it took. */
import generated from 'otlp-messages/build/src/generated/root.js'

type Json = Record<string, unknown>

export interface CollectedSpan {
  traceId: string
  spanId: string
  parentSpanId: string | undefined
  name: string
  attributes: Json
}

export interface CollectedLog {
  eventName: string
  severity: string
  body: string
  attributes: Json
}

interface AnyValue {
  stringValue?: string
  intValue?: number
  doubleValue?: number
  boolValue?: boolean
  arrayValue?: { values?: AnyValue[] }
}
interface Attribute {
  key: string
  value: AnyValue
}

const plainOf = ({ stringValue, intValue, doubleValue, boolValue, arrayValue }: AnyValue): unknown =>
  arrayValue ? (arrayValue.values ?? []).map(plainOf) : (stringValue ?? intValue ?? doubleValue ?? boolValue)
const attributesOf = (given: Attribute[] = []): Json =>
  Object.fromEntries(given.map(({ key, value }) => [key, plainOf(value)]))

interface Traces {
  resourceSpans: {
    scopeSpans: {
      spans: {
        traceId: Uint8Array
        spanId: Uint8Array
        parentSpanId?: Uint8Array
        name: string
        attributes: Attribute[]
      }[]
    }[]
  }[]
}
interface Logs {
  resourceLogs: {
    resource: { attributes: Attribute[] }
    scopeLogs: { logRecords: { eventName: string; severityText: string; body: AnyValue; attributes: Attribute[] }[] }[]
  }[]
}

/** A message of the protocol. @throws if the bytes are none */
interface Message<T> {
  decode(bytes: Uint8Array): unknown
  toObject(message: unknown, options: { longs: NumberConstructor }): T
  encode(message: object): { finish(): Uint8Array<ArrayBuffer> }
}
interface Messages {
  opentelemetry: {
    proto: {
      collector: {
        trace: { v1: { ExportTraceServiceRequest: Message<Traces>; ExportTraceServiceResponse: Message<object> } }
        logs: { v1: { ExportLogsServiceRequest: Message<Logs>; ExportLogsServiceResponse: Message<object> } }
      }
    }
  }
}
const { trace, logs: logging } = (generated as unknown as Messages).opentelemetry.proto.collector

const read = async <T>(request: Request, message: Message<T>): Promise<T> =>
  message.toObject(message.decode(await request.bytes()), { longs: Number })

export function startCollector() {
  const spans: CollectedSpan[] = []
  const logs: CollectedLog[] = []
  const resources: Json[] = []
  const state = { up: true, refused: 0 }

  async function takeSpans(request: Request): Promise<void> {
    for (const { scopeSpans } of (await read(request, trace.v1.ExportTraceServiceRequest)).resourceSpans)
      for (const { spans: found } of scopeSpans)
        for (const { traceId, spanId, parentSpanId, name, attributes } of found)
          spans.push({
            ...{ traceId: traceId.toHex(), spanId: spanId.toHex(), parentSpanId: parentSpanId?.toHex() },
            ...{ name, attributes: attributesOf(attributes) },
          })
  }

  async function takeLogs(request: Request): Promise<void> {
    for (const { resource, scopeLogs } of (await read(request, logging.v1.ExportLogsServiceRequest)).resourceLogs) {
      resources.push(attributesOf(resource.attributes))
      for (const { logRecords } of scopeLogs)
        for (const { eventName, severityText: severity, body: text, attributes } of logRecords)
          logs.push({ eventName, severity, body: String(plainOf(text)), attributes: attributesOf(attributes) })
    }
  }

  const paths = {
    '/v1/traces': [takeSpans, trace.v1.ExportTraceServiceResponse],
    '/v1/logs': [takeLogs, logging.v1.ExportLogsServiceResponse],
  } as const
  const type = 'application/x-protobuf'
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const [take, answer] = paths[new URL(request.url).pathname as keyof typeof paths] ?? []
      if (!take || request.headers.get('content-type') !== type) return new Response('unknown', { status: 404 })
      if (!state.up) {
        state.refused++
        return new Response('down', { status: 500 })
      }
      await take(request)
      return new Response(answer.encode({}).finish(), { headers: { 'content-type': type } })
    },
  })
  return {
    url: server.url.href.replace(/\/$/, ''),
    spans,
    logs,
    resources,
    state,
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}

/** A collector of OpenTelemetry: takes OTLP as JSON over HTTP, and keeps what it took. */

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

interface TracesBody {
  resourceSpans: { scopeSpans: { spans: (Omit<CollectedSpan, 'attributes'> & { attributes: Attribute[] })[] }[] }[]
}
interface LogsBody {
  resourceLogs: {
    resource: { attributes: Attribute[] }
    scopeLogs: { logRecords: { eventName: string; severityText: string; body: AnyValue; attributes: Attribute[] }[] }[]
  }[]
}

export function startCollector() {
  const spans: CollectedSpan[] = []
  const logs: CollectedLog[] = []
  const resources: Json[] = []
  const state = { up: true, refused: 0 }
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const body = await request.json()
      if (!state.up) {
        state.refused++
        return new Response('down', { status: 500 })
      }
      const { pathname } = new URL(request.url)
      if (pathname === '/v1/traces')
        for (const { scopeSpans } of (body as TracesBody).resourceSpans)
          for (const { spans: found } of scopeSpans)
            spans.push(...found.map((one) => ({ ...one, attributes: attributesOf(one.attributes) })))
      else if (pathname === '/v1/logs')
        for (const { resource, scopeLogs } of (body as LogsBody).resourceLogs) {
          resources.push(attributesOf(resource.attributes))
          for (const { logRecords } of scopeLogs)
            for (const { eventName, severityText: severity, body: text, attributes } of logRecords)
              logs.push({ eventName, severity, body: String(plainOf(text)), attributes: attributesOf(attributes) })
        }
      else return new Response('unknown', { status: 404 })
      return Response.json({})
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

/**
 * The audit trail as OTLP logs: every entry at least once, in order, over restarts and by one of several servers. Entries from before the
 * first start with telemetry are not sent; `cstp audit export` has them.
 */
import { SeverityNumber } from '@opentelemetry/api'
import { type ExportResult, ExportResultCode } from '@opentelemetry/core'
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-proto'
import { LoggerProvider, type ReadableLogRecord } from '@opentelemetry/sdk-logs'
import type { KeyedReader } from '../../../sdk/storage/keyed.ts'
import type { Store, StoredAuditEntry } from '../../../sdk/storage/store.ts'
import { describeError, type Log } from '../../core/log.ts'
import { type PeriodicJob, startPeriodicJob } from '../../core/periodic-job.ts'
import { serviceName, version } from '../../core/version.ts'
import type { Settings } from '../config/config.ts'
import { later } from '../lifecycle.ts'
import { ocsfEvent, withoutTexts } from './ocsf.ts'
import { resourceOf } from './spans.ts'

/** How far the trail was sent, for all servers of a store. */
export const auditExportCollection = 'audit_export'
const key = 'otlp'

const batch = 500
const round_ms = 1_000
const lease_ms = 15_000
/** How long the end of the trail may take when the server stops; the next start sends what is left. */
const closing_ms = 5_000

interface Progress {
  /** Position of the last entry that was sent. */
  after: number
  /** The server that sends, until `lease_until_ms`. */
  holder: string
  lease_until_ms: number
}

/** Makes log records without a pipeline: what is sent is decided by the trail's own position. */
function openRecords({ settings, workspace }: Pick<AuditLogsOptions, 'settings' | 'workspace'>) {
  const [texts, format] = [settings.telemetry_texts === 'on', settings.telemetry_audit === 'ocsf' ? 'ocsf' : 'cstp']
  const made: ReadableLogRecord[] = []
  const nothing = async () => {}
  const provider = new LoggerProvider({
    resource: resourceOf(workspace),
    processors: [{ onEmit: (record) => void made.push(record), forceFlush: nothing, shutdown: nothing }],
  })
  const logger = provider.getLogger(serviceName, version)
  return (entries: readonly StoredAuditEntry[]): ReadableLogRecord[] => {
    for (const entry of entries) {
      const { seq, at, agent, method, request_id, allowed, ids, rules } = entry
      const shown = texts ? entry : withoutTexts(entry)
      logger.emit({
        timestamp: Date.parse(at),
        severityNumber: allowed === false ? SeverityNumber.WARN : SeverityNumber.INFO,
        severityText: allowed === false ? 'WARN' : 'INFO',
        eventName: 'cstp.audit',
        body: JSON.stringify(format === 'ocsf' ? ocsfEvent(shown) : shown),
        attributes: {
          'cstp.seq': seq,
          'cstp.method': method,
          'cstp.request_id': request_id,
          'cstp.decision_ids': ids,
          'gen_ai.agent.id': agent,
          ...(allowed !== null && { 'cstp.allowed': allowed, 'cstp.rules': rules }),
        },
      })
    }
    return made.splice(0)
  }
}

export interface AuditLogsOptions {
  settings: Pick<Settings, 'telemetry_audit' | 'telemetry_texts'>
  /** Absent for the default one. */
  workspace?: string
  store: Pick<Store, 'audit' | 'keyed' | 'transaction'>
  now(): number
  log: Log
}

export function followAudit({ store, now, log, ...rest }: AuditLogsOptions): PeriodicJob {
  const exporter = new OTLPLogExporter()
  const records = openRecords(rest)
  const holder = crypto.randomUUID()
  const read = async (keyed: Pick<KeyedReader, 'get'>) => (await keyed.get(auditExportCollection, [key]))[0]
  const isOthers = ({ holder: by, lease_until_ms }: Progress) => by !== holder && lease_until_ms > now()

  /** Notes the position under a lease of this server; false if another server has it. */
  const note = (after: number): Promise<boolean> =>
    store.transaction(async ({ keyed }) => {
      const found = await read(keyed)
      if (found && isOthers(found.value as Progress)) return false
      const value: Progress = { after, holder, lease_until_ms: now() + lease_ms }
      await keyed.put(auditExportCollection, key, value, { version: found?.version ?? 0 })
      return true
    })

  /** The position of the last entry that was sent; null while another server sends. */
  async function reached(): Promise<number | null> {
    const found = await read(store.keyed)
    if (found) return isOthers(found.value as Progress) ? null : (found.value as Progress).after
    const newest = (await store.audit.list({ limit: 1 }))[0]?.seq ?? 0
    return (await note(newest)) ? newest : null
  }

  /** The oldest entries after a position. The trail is read from its end, in pages. */
  async function next(after: number): Promise<StoredAuditEntry[]> {
    let oldest: StoredAuditEntry[] = []
    for (let cursor: number | undefined; ; ) {
      const page = await store.audit.list({ limit: batch, ...(cursor !== undefined && { cursor }) })
      const fresh = page.filter(({ seq }) => seq > after)
      if (fresh.length > 0) oldest = fresh
      if (fresh.length < batch) return oldest.reverse()
      cursor = fresh.at(-1)!.seq
    }
  }

  const send = (entries: readonly StoredAuditEntry[]): Promise<void> =>
    new Promise((resolve, reject) => {
      exporter.export(records(entries), ({ code, error }: ExportResult) =>
        code === ExportResultCode.SUCCESS ? resolve() : reject(error ?? new Error('the collector took no logs')),
      )
    })

  let failures = 0
  const job = startPeriodicJob({
    every_ms: round_ms,
    after: later,
    async work(stop) {
      for (let sent = 0; ; ) {
        const after = stop.aborted ? null : await reached()
        const entries = after === null ? [] : await next(after)
        if (entries.length === 0 || !(await note(after!))) return sent
        await send(entries)
        await note(entries.at(-1)!.seq)
        sent += entries.length
        failures = 0
      }
    },
    failed(error) {
      // Once every few minutes while a collector is unavailable.
      if (failures++ % 20 === 0)
        log('warn', 'the audit trail could not be sent; it will be retried', describeError(error))
    },
  })

  return {
    ...job,
    async close() {
      const rest = job.drain().catch((error) => log('warn', 'the end of the audit trail waits', describeError(error)))
      // A timer that nobody waits for any more would hold the process up.
      const over = Promise.withResolvers<void>()
      const cancel = later(closing_ms, over.resolve)
      await Promise.race([rest, over.promise])
      cancel()
      await exporter.shutdown()
      await job.close()
    },
  }
}

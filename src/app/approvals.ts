/** Approvals on this server: the pages where people decide them, and delivery of signed notices, including those of drift. */
import { randomBytes } from 'node:crypto'
import type { Store } from '../../sdk/storage/store.ts'
import { describeError, type Log } from '../core/log.ts'
import type { PeriodicJob } from '../core/periodic-job.ts'
import { type DriftTools, startDriftReports } from '../domain/learn/calibration/drift-periods.ts'
import type { Desk, NoticeKind } from '../domain/record/approval/approval.ts'
import { formatted } from '../domain/record/approval/messages.ts'
import { keyOf, signed, startNotices } from '../domain/record/approval/notices.ts'
import type { Settings } from './config/config.ts'
import { later } from './lifecycle.ts'
import { commandLine } from './service-file.ts'

/** How long the receiver of a notice may take to answer. */
const answerMs = 10_000

const everywhere = new Set(['0.0.0.0', '::', '[::]'])

/** The service's expected address, derived from the settings. */
export function expectedUrl({ public_url, host, port }: Pick<Settings, 'public_url' | 'host' | 'port'>): string {
  const name = everywhere.has(host) ? '127.0.0.1' : host
  return public_url ?? `http://${name.includes(':') && !name.startsWith('[') ? `[${name}]` : name}:${port}`
}

/**
 * @param base returns the address of the service; called on each use, since the port is known only once it listens
 * @param workspace which the pages show to a person of several
 */
export const openDesk = (
  settings: Pick<Settings, 'webhook_url' | 'webhook_events'> & Partial<Pick<Settings, 'auth_tokens' | 'data_dir'>>,
  base: () => string,
  now: () => number,
  workspace?: string,
): Desk => ({
  now,
  randomHex: (bytes) => randomBytes(bytes).toString('hex'),
  approvalUrl: (id) => `${base()}/dashboard/approvals/${id}${workspace === undefined ? '' : `?workspace=${workspace}`}`,
  ...(settings.auth_tokens === null && {
    approveLine: (id) => commandLine(['approvals', 'approve', id], settings.data_dir),
  }),
  pageUrl: (path) =>
    `${base()}/dashboard/${path}${workspace === undefined ? '' : `${path.includes('?') ? '&' : '?'}workspace=${workspace}`}`,
  notifies: new Set<NoticeKind>(settings.webhook_url === null ? [] : settings.webhook_events),
})

/** Delivers notices to the one address that the operator set; null if there is none. */
export function openNotices(
  { webhook_url, webhook_secret, webhook_format }: Pick<Settings, 'webhook_url' | 'webhook_secret' | 'webhook_format'>,
  store: Store,
  now: () => number,
  log: Log,
): PeriodicJob | null {
  if (webhook_url === null) return null
  const key = webhook_secret === null ? null : keyOf(webhook_secret)
  return startNotices({
    store,
    now,
    after: later,
    async send(id, notice, signal) {
      const body = formatted(webhook_format, notice)
      const response = await fetch(webhook_url, {
        method: 'POST',
        // A redirect could lead into the operator's own network.
        redirect: 'manual',
        headers: { 'content-type': 'application/json', ...(key && signed(key, id, body, now())) },
        body,
        signal: AbortSignal.any([signal, AbortSignal.timeout(answerMs)]),
      })
      await response.body?.cancel()
      if (!response.ok) throw new Error(`the webhook answered HTTP ${response.status}`)
    },
    failed: (id, attempts, error, given_up) =>
      log(given_up ? 'error' : 'warn', given_up ? 'a notice was abandoned' : 'a notice failed; it will be retried', {
        id,
        attempts,
        ...describeError(error),
      }),
  })
}

/** Starts the search for drift to report; null if the webhook does not ask for drift. */
export const openDriftReports = (tools: Omit<DriftTools, 'yieldToEventLoop'>, log: Log): PeriodicJob | null =>
  tools.approvalContext.notifies.has('drift')
    ? startDriftReports({
        ...tools,
        yieldToEventLoop: () => Bun.sleep(0),
        after: later,
        failed: (error) => log('warn', 'drift could not be checked; it will be retried', describeError(error)),
      })
    : null

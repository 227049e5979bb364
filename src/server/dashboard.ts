/** Ties the dashboard to the store that knows its logins, and to the files of its pages. */
import type { Settings } from '../config.ts'
import { type Services, timestamp } from '../context.ts'
import { createLogins } from '../domain/logins.ts'
import {
  createDashboard,
  type Dashboard,
  type DashboardOptions,
  type Page,
  type PageFile,
} from '../surfaces/dashboard.ts'

function fileOf(type: string, text: string): PageFile {
  const body = new TextEncoder().encode(text)
  return { type, body, gzip: Bun.gzipSync(body, { level: 9 }) }
}

async function makePage(): Promise<Page> {
  const { bundle } = await import('./dashboard/bundle.ts')
  const { html, files } = await bundle()
  return {
    html: fileOf('text/html; charset=utf-8', html),
    files: new Map(files.map(({ name, type, text }) => [name, fileOf(type, text)])),
  }
}

/** The dashboard, where the settings want one. */
export function openDashboard(
  { dashboard, public_url, trust_proxy }: Settings,
  services: Services,
  access: Pick<DashboardOptions, 'authenticate' | 'agents' | 'logins'>,
): Dashboard | null {
  if (dashboard === 'off') return null
  const { store, now, randomHex, log } = services
  let made: Promise<Page> | null = null
  return createDashboard({
    ...access,
    sessions: createLogins({ store, now, randomHex }),
    public_url,
    trust_proxy,
    page() {
      made ??= makePage()
      return made
    },
    async told(what, agent, request_id) {
      log('info', what, { request_id, agent })
      const entry = { at: timestamp(now()), agent, method: `dashboard.${what}`, request_id, ids: [] }
      await store.transaction((tx) => tx.audit.append({ ...entry, allowed: null, rules: [], detail: null }))
    },
  })
}

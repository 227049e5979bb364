/** Checks the hooks that `cstp init` wrote: a client that does not trust a hook skips it without a message. */
import { timestamp } from '../../core/time.ts'
import { hookCollections } from '../../domain/record/hook-records.ts'
import { manifests } from '../init/apply.ts'
import { foreignPorts } from '../own-drivers.ts'
import { type Check, note, warning } from './finding.ts'
import { openCatalogue } from './stores.ts'

/** Time of the last event from each client, read from the catalogue. */
function heard(data_dir: string): Map<string, number> {
  using db = openCatalogue({ data_dir })
  if (db === null) return new Map()
  const rows = db
    .query<{ key: string; value: string }, [string]>('select key, value from keyed_records where collection = ?')
    .all(hookCollections.client)
  return new Map(rows.map(({ key, value }) => [key, (JSON.parse(value) as { last_ms: number }).last_ms]))
}

const fixes: Record<string, string> = {
  codex: 'not trusted? open codex there and run /hooks',
  'claude-code': 'open claude there and run /hooks: it lists the hooks that are active',
}

export const checkHooks: Check = {
  name: 'hooks',
  async *run(settings) {
    const { data_dir, store_url } = settings
    const written = await manifests(data_dir)
    const known = store_url === null && !(await foreignPorts(settings)).includes('store') ? heard(data_dir) : null
    for (const { dir, clients, at, shadow } of written)
      for (const client of clients) {
        const last = known?.get(client)
        const mode = shadow ? ', in shadow' : ''
        if (known === null)
          yield note(`${client}: hooks written ${at} in ${dir}${mode}`, 'cstp call listSessions shows its sessions')
        else if (last === undefined)
          yield warning(
            `${client}: hooks written ${at} in ${dir}, no call received`,
            fixes[client] ?? 'start the client there, and make sure that the service runs',
          )
        else yield note(`${client}: last hook call ${timestamp(last)}${mode}`, 'cstp hook report shows what it stopped')
      }
  },
}

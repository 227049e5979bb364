/** Checks the connections that `cstp init` wrote: compares their files, then runs the commands in them as the clients do. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Astray, astray } from '../../core/observed.ts'
import { dayMs, timestamp } from '../../core/time.ts'
import { isUngated } from '../../domain/hook/astray.ts'
import type { HookSession } from '../../domain/hook/session.ts'
import { hookCollections } from '../../domain/record/hook-records.ts'
import { manifests } from '../init/apply.ts'
import { begin } from '../init/begin.ts'
import { againLine, changed } from '../init/changed.ts'
import { connectionOf } from '../init/connection.ts'
import { fixOf } from '../init/fix.ts'
import { proofLine, prove } from '../init/proof.ts'
import { clientNames, type InitClient } from '../init/wiring.ts'
import { foreignPorts } from '../own-drivers.ts'
import { commandLine } from '../service-file.ts'
import { type Check, error, type Finding, note, warning } from './finding.ts'
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

const lookedDays = 7

const ranAs: Record<Astray, string> = {
  though_denied: 'ran though stopped',
  other_than_judged: 'ran with another input than was checked',
  unjudged: 'ran unchecked',
}

const counted = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? '' : 's'}`

/** Calls of the last days that ran against their verdict, or without one, by what the clients' hooks reported. */
function* disobeyed(data_dir: string): Generator<Finding> {
  using db = openCatalogue({ data_dir })
  if (db === null) return
  const since = Date.now() - lookedDays * dayMs
  const sessions = db
    .query<{ value: string }, [string]>('select value from keyed_records where collection = ?')
    .all(hookCollections.session)
    .map(({ value }) => JSON.parse(value) as HookSession)
    .filter(({ last_ms, client }) => last_ms >= since && client !== 'gateway')
  for (const client of new Set(sessions.map((one) => one.client))) {
    const own = sessions.filter((one) => one.client === client)
    const name = clientNames[client as InitClient]
    const ungated = own.filter(isUngated)
    for (const how of astray) {
      const those = own.filter((one) => how !== 'unjudged' || !isUngated(one))
      const calls = those.reduce((sum, { ran }) => sum + (ran?.[how] ?? 0), 0)
      if (calls === 0) continue
      const found = how === 'though_denied' ? error : warning
      yield found(
        `${name}: ${counted(calls, 'call')} of the last ${lookedDays} days ${ranAs[how]}`,
        'cstp hook report lists them; what must not run belongs behind cstp gateway, which does not depend on the client',
      )
    }
    if (ungated.length > 0)
      yield warning(
        `${name}: ${counted(ungated.length, 'session')} of the last ${lookedDays} days called tools and asked before none: the hook that asks was removed or turned off`,
        use(client as InitClient),
      )
  }
}

const fixes: Partial<Record<InitClient, string>> = {
  codex: 'not trusted? open codex there and run /hooks',
  'claude-code': 'open claude there and run /hooks: it lists the hooks that are active',
}
const use = (client: InitClient): string => fixes[client] ?? 'start the client there'

/** @param env the environment, which clients would have too */
export const checkHooks = (env: Record<string, string | undefined>): Check => ({
  name: 'hooks',
  async *run(settings) {
    const { store_url } = settings
    const data_dir = resolve(settings.data_dir)
    const written = await manifests(data_dir)
    const pairs = written.flatMap(({ dir, at, wirings }) =>
      Object.entries(wirings).map(([client, wiring]) => ({ client: client as InitClient, wiring, dir, at })),
    )
    const isOwn = pairs.some(({ wiring }) => wiring.url === null && wiring.data_dir === data_dir)
    const service = isOwn ? await begin(data_dir, env) : null
    if (service?.state === 'down') yield error(service.why, service.fix)
    if (service?.state === 'started')
      yield warning(
        `the service was down${service.since === null ? '' : ` since ${service.since}`}; this check started it, as the next hook would have`,
        `${commandLine(['service', 'install'], data_dir)} keeps it running`,
      )
    const known = store_url === null && !(await foreignPorts(settings)).includes('store') ? heard(data_dir) : null
    if (known !== null) yield* disobeyed(data_dir)
    for (const { client, wiring, dir, at } of pairs) {
      const name = clientNames[client]
      if (!existsSync(dir)) {
        yield note(`${name}: hooks written ${at} in ${dir}, which is gone`, 'if it was moved, run cstp init there')
        continue
      }
      if (wiring.data_dir !== data_dir) {
        yield note(`${name}: hooks in ${dir} use ${wiring.data_dir}`, `cstp doctor --data-dir ${wiring.data_dir}`)
        continue
      }
      const found = connectionOf(client, wiring, dir)
      const findings = [...changed(client, wiring, dir, found)]
      yield* findings
      if (findings.every(({ severity }) => severity !== 'error') && service?.state !== 'down') {
        const proof = await prove(client, found, { dir, env })
        for (const problem of proof.problems)
          yield error(`${name}: ${problem} (${dir})`, fixOf(problem, againLine(client, wiring, dir), data_dir))
        if (proof.problems.length === 0) yield note(`${proofLine(proof)} (${dir}, mode ${wiring.mode})`, use(client))
      }
      const last = known?.get(client)
      if (last !== undefined)
        yield note(`${name}: last hook call ${timestamp(last)}`, 'cstp hook report shows what it stopped')
      else if (known !== null)
        yield note(`${name}: hooks written ${at}, no call of the client received yet`, use(client))
    }
  },
})

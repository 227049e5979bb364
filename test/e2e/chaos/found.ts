/** What several servers and their database hold in the end. */

import { suiteOptions } from '../../../sdk/storage/conformance/store/records.ts'
import { decisionPages, readDecisions } from '../../../sdk/storage/decisions.ts'
import { countDecisions } from '../../../sdk/storage/groups.ts'
import { countKeyed, outboxCollection } from '../../../sdk/storage/keyed.ts'
import { listSessions } from '../../../src/domain/record/deliberation/sessions.ts'
import { openPostgresEvidence } from '../../../src/drivers/evidence/postgres/driver.ts'
import { openPostgresStore } from '../../../src/drivers/store/postgres/driver.ts'
import { chainOf } from '../../drivers/evidence/evidence-tools.ts'
import { type RunningServer, until } from '../../support/process.ts'
import { checkThread } from '../../support/thread.ts'
import { counted, tripped } from './client.ts'
import type { Found } from './history.ts'

/** Who is behind a session's key, or a decision of a client. */
const clientOf = (text: string): string => /(?:as:|decision )(c\d+)/.exec(text)?.[1] ?? ''
const isThought = (text: string) => text.startsWith('thought ')

async function breakersOf(server: RunningServer): Promise<Found['breakers'][number]> {
  const shown = await Promise.all(
    [counted, tripped].map((category) => server.call('getCircuitState', { scope: `category:${category}` })),
  )
  return shown.map((one) => ({
    scope: String(one.scope),
    opened: typeof one.opened_at === 'string' ? Date.parse(one.opened_at) : null,
    probe: typeof one.probe_decision_id === 'string' ? one.probe_decision_id : null,
    failures: Number(one.failure_count),
  }))
}

export async function lookAround(url: string, servers: readonly RunningServer[]): Promise<Found> {
  const store = await openPostgresStore({ ...suiteOptions, url })
  const evidence = await openPostgresEvidence({ url })
  try {
    // The servers that still run work off the outbox.
    const isDone = async () =>
      (await countKeyed(store.keyed, outboxCollection)) +
        (await countDecisions(store.decisions, { indexed: false })) ===
      0
    await until('vectors of all', isDone, 60_000).catch(() => {})
    // A call that lost its client may still end in its server, and adds an act then.
    let acts = -1
    const isQuiet = async () => {
      const before = acts
      await Bun.sleep(2_000)
      acts = (await store.thread.head()).seq
      return acts === before
    }
    await until('a thread that does not grow', isQuiet, 60_000)
    const decisions: Found['decisions'] = []
    for await (const page of decisionPages(store.decisions, {}, 500)) {
      for (const { record, indexed } of await readDecisions(
        store.decisions,
        page.map(({ id }) => id),
      ))
        decisions.push({
          id: record.id,
          text: record.decision,
          category: record.category!,
          agent: clientOf(record.decision),
          outcome: record.outcome,
          links: record.links.map(({ target_id }) => target_id),
          thoughts: (record.deliberation?.steps ?? []).map(({ thought }) => thought).filter(isThought),
          indexed,
        })
    }
    const sessions = await listSessions(store)
    const waiting = sessions.flatMap(({ key, inputs }) =>
      inputs.filter(({ text }) => isThought(text)).map(({ text }) => ({ agent: clientOf(key), text })),
    )
    const audit: Found['audit'] = []
    for (let cursor: number | undefined; ; ) {
      const some = await store.audit.list({ ...(cursor !== undefined && { cursor }), limit: 1_000 })
      if (some.length === 0) break
      cursor = some.at(-1)!.seq
      for (const { method, ids, detail } of some) {
        const { claims } = (detail ?? {}) as { claims?: { id?: string } }
        audit.push({ method, ids, claim: claims?.id ?? null })
      }
    }
    await checkThread(store, [])
    const { seq: records } = await evidence.head()
    const events = await evidence.read(1, records + 1_000)
    const { intact } = await chainOf(evidence).verify(null)
    return {
      decisions,
      waiting,
      audit,
      outbox: await countKeyed(store.keyed, outboxCollection),
      chain: {
        intact,
        records,
        seqs: events.map(({ seq }) => seq),
        ops: new Map(events.map(({ seq, payload }) => [seq, String(JSON.parse(payload).op)])),
      },
      breakers: await Promise.all(servers.map(breakersOf)),
      counted: { category: counted, scope: `category:${counted}` },
    }
  } finally {
    await evidence.close()
    await store.close()
  }
}

/** cstp migrate with what people and policy left: requests and grants go on, rule sets can be looked up, notices are delivered, both ways. */
import { Database } from 'bun:sqlite'
import { expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { migrate } from '../../src/app/migrate/migrate.ts'
import { openSide } from '../../src/app/migrate/sides.ts'
import { appendInputs, getSession } from '../../src/domain/record/deliberation/sessions.ts'
import { freshSchema, postgres, whyNoPostgres } from '../support/postgres.ts'
import { type Answer, inTemporaryDir, startServer, until } from '../support/process.ts'

setDefaultTimeout(120_000)

const tokens = { ada: 'ada:token-of-ada-000000', ann: 'ann:token-of-ann-000000' }
type Who = keyof typeof tokens
const secret = `whsec_${btoa('a'.repeat(24))}`

const rules = (amount: number) => `
guardrails:
  - { id: pay, action: step_up, message: A person agrees, condition_category: payment, step_up: { expires: 4h } }
  - { id: large, message: Too much, condition_context.amount: "> ${amount}" }
  - { id: before, action: warn, message: m, tag: seen, condition_session.actions: contains payment }
`

/** Everything that rows of a data directory hold, by collection; of due times only that there are some. */
function keyedIn(dir: string): Record<string, unknown[]> {
  const db = new Database(join(dir, 'cstp.db'), { readonly: true })
  const rows = db
    .query<{ collection: string }, []>(
      'select collection, key, value, expires_ms from keyed_records order by collection, key',
    )
    .all()
  db.close()
  const own = ['login', 'agent_bytes', 'migration']
  return Object.fromEntries(
    [...Map.groupBy(rows, ({ collection }) => collection)].filter(([name]) => !own.includes(name)),
  )
}

const server = postgres()
if (server === null) test.skip(`cstp migrate with approvals (${whyNoPostgres})`, () => {})
else
  test('approvals, archived rules and notices are there after a migration, and go on', () =>
    inTemporaryDir(async (home) => {
      const [dir, back, policy] = [join(home, 'source'), join(home, 'back'), join(home, 'rules')]
      await mkdir(policy)
      await writeFile(join(policy, 'rules.yaml'), rules(100))
      const received: { id: string; body: string }[] = []
      const receiver = Bun.serve({
        port: 0,
        hostname: '127.0.0.1',
        async fetch(request) {
          received.push({ id: request.headers.get('webhook-id')!, body: await request.text() })
          return new Response()
        },
      })
      const env = {
        CSTP_AUTH_TOKENS: Object.values(tokens).join(','),
        ...{ CSTP_ADMIN_AGENTS: 'ann', CSTP_APPROVERS: 'ann', CSTP_CURATORS: 'ann', CSTP_EVIDENCE_AGENTS: 'ann' },
        GUARDRAILS_PATHS: policy,
        CSTP_PUBLIC_URL: 'https://cstp.example',
        CSTP_WEBHOOK_SECRET: secret,
        CSTP_WEBHOOK_URL: 'http://127.0.0.1:9/nobody',
      }
      const asker = (url: string) => async (who: Who, method: string, params: object) => {
        const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: `cstp.${method}`, params })
        const headers = { authorization: `Bearer ${tokens[who]}`, 'content-type': 'application/json' }
        const { result, error } = (await (
          await fetch(`${url}/cstp`, { method: 'POST', headers, body })
        ).json()) as Answer
        if (!result) throw new Error(`${method}: ${JSON.stringify(error)}`)
        return result
      }
      const check = (amount: number) => ({
        action: { description: `Pay ${amount}`, category: 'payment', context: { amount } },
      })
      const decide = (id: string, decision: string) => ({ id, decision, reason: 'as agreed' })
      const seen = async (call: ReturnType<typeof asker>, hashes: string[]) => ({
        approvals: (await call('ann', 'listApprovals', { limit: 100 })).approvals,
        policies: await Promise.all(hashes.map((policy_hash) => call('ada', 'getPolicy', { policy_hash }))),
      })

      await mkdir(dir)
      const first = await startServer({ dir, env })
      let call = asker(first.url)
      const approvalOf = async (amount: number) =>
        ((await call('ada', 'checkGuardrails', check(amount))).approval as { id: string } | null)!.id
      const ids = {
        pending: await approvalOf(1),
        granted: await approvalOf(2),
        denied: await approvalOf(3),
        used: await approvalOf(4),
      }
      await call('ann', 'decideApproval', decide(ids.granted, 'approve'))
      await call('ann', 'decideApproval', decide(ids.denied, 'deny'))
      await call('ann', 'decideApproval', decide(ids.used, 'approve'))
      const used = await call('ada', 'checkGuardrails', check(4))
      expect(used.allowed).toBe(true)
      await writeFile(join(policy, 'rules.yaml'), rules(200))
      await call('ann', 'reloadGuardrails', {})
      const { policy_hash } = await call('ada', 'checkGuardrails', check(300))
      const hashes = [used.policy_hash as string, policy_hash as string]
      const before = await seen(call, hashes)
      expect(new Set((before.approvals as { state: string }[]).map(({ state }) => state))).toEqual(
        new Set(['pending', 'approved', 'denied', 'consumed']),
      )
      await first.kill()

      // Notices that are due, and a session that went idle: their times have passed.
      const db = new Database(join(dir, 'cstp.db'))
      db.run(`update keyed_records set expires_ms = 1 where collection = 'notice'`)
      db.close()
      const side = await openSide(dir, true)
      const input = { id: 'i', type: 'thought', text: 'old', source: 's', timestamp: '', data: null }
      const idle = { key: 'idle', agent: 'idle' }
      await side.store.transaction((tx) => appendInputs(tx, idle, [input], { now_ms: 1, ttl_ms: 1 }))
      await side.close()
      const all = keyedIn(dir)
      expect(Object.keys(all)).toEqual(
        expect.arrayContaining(['approval', 'notice', 'policy', 'action_session', 'session']),
      )

      const url = freshSchema(server)
      const more = { now_ms: Date.now(), signal: new AbortController().signal, progress: () => {} }
      await migrate({ from: dir, to: url, ...more })
      await migrate({ from: url, to: back, ...more })
      expect(keyedIn(back)).toEqual(all)

      // What was idle lends nothing to the next session of its name.
      const there = await openSide(url, true)
      await there.store.transaction((tx) =>
        appendInputs(tx, idle, [{ ...input, text: 'new' }], { now_ms: 9, ttl_ms: 1 }),
      )
      expect((await getSession(there.store, 'idle'))!.inputs.map(({ text }) => text)).toEqual(['new'])
      await there.close()

      const shared = { CSTP_STORE_URL: url, CSTP_EVIDENCE_KEY: join(dir, 'keys/evidence.pem') }
      for (const place of [
        { dir: join(home, 'other'), more: shared },
        { dir: back, more: {} },
      ]) {
        received.length = 0
        await mkdir(place.dir, { recursive: true })
        const next = await startServer({
          dir: place.dir,
          env: { ...env, ...place.more, CSTP_WEBHOOK_URL: `http://127.0.0.1:${receiver.port}/` },
        })
        try {
          call = asker(next.url)
          expect(await seen(call, hashes)).toEqual(before)
          await until('the notices', async () => received.length >= (all.notice?.length ?? 0))
          expect(new Set(received.map(({ id }) => id))).toEqual(
            new Set((all.notice as { key: string }[]).map(({ key }) => key)),
          )
          expect((await call('ada', 'checkGuardrails', check(2))).allowed).toBe(true)
          expect((await call('ada', 'checkGuardrails', check(2))).allowed).toBe(false)
          expect((await call('ada', 'checkGuardrails', check(3))).approval).toMatchObject({
            id: ids.denied,
            state: 'denied',
          })
          await call('ann', 'decideApproval', decide(ids.pending, 'approve'))
          expect((await call('ada', 'checkGuardrails', check(1))).allowed).toBe(true)
        } finally {
          await next.kill()
        }
      }
      receiver.stop(true)
    }))

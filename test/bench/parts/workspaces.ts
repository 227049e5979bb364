/** Many workspaces in one server: the first call of each, the memory of all, and calls once they are open beside those of a server with one. */
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createToken } from '../../../src/app/tokens.ts'
import type { Bench } from '../bench.ts'
import { callBody, inTurn, type Next, post, readFigures } from '../calls.ts'
import { questionOf } from '../corpus.ts'
import { percentile } from '../load.ts'
import type { Child } from '../process.ts'
import { rowOf } from '../report.ts'

const part = 'workspaces'
const many = 200
/** Fewer than a server keeps open. */
const warm = 24
const size = 500
const rounds = 5
const mb = 1_048_576

type Figures = Awaited<ReturnType<typeof readFigures>>

/** The round with the middle p95. */
const middle = (found: Figures[]): Figures => found.sort((a, b) => a.p95_ms - b.p95_ms)[found.length >> 1]!

export async function workspaces(bench: Bench): Promise<void> {
  if (bench.store !== 'embedded') return
  const seeded = await bench.seeded(size)
  const place = await bench.empty('workspaces')
  await cp(seeded, place, { recursive: true })
  await mkdir(join(place, 'workspaces'))
  const tokens: string[] = []
  for (let number = 0; number < many; number++) {
    const workspace = `team-${number}`
    const own = join(place, 'workspaces', workspace)
    await cp(seeded, own, { recursive: true })
    // What is seeded was signed with a key beside it.
    await mkdir(join(own, 'keys'), { recursive: true })
    await cp((await bench.env(place)).CSTP_EVIDENCE_KEY!, join(own, 'keys/evidence.pem'))
    await writeFile(`${own}.yaml`, '')
    const given = { name: workspace, agent: 'planner', scopes: null, expires_at: null, workspace }
    tokens.push(`planner:${(await createToken(place, given, Date.now())).token}`)
  }
  const child = await bench.quietServer(place)
  const query = (at: number) =>
    callBody('queryDecisions', { query: questionOf(at, size), retrieval_mode: 'keyword', track: false })
  bench.add(rowOf(part, 'server, before any is open', { size, rss_mb: child.rss() / mb }))
  const first = new Float64Array(many)
  for (const [number, token] of tokens.entries()) {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const start = performance.now()
    const answer = await fetch(`${child.url}/cstp`, { method: 'POST', headers, body: query(number) })
    await answer.text()
    if (!answer.ok) throw new Error(`${token.slice(0, 8)} is answered ${answer.status}`)
    first[number] = performance.now() - start
  }
  first.sort()
  bench.add(
    rowOf(part, 'first call of a workspace', {
      size,
      p50_ms: percentile(first, 0.5),
      p95_ms: percentile(first, 0.95),
      p99_ms: percentile(first, 0.99),
    }),
  )
  bench.add(rowOf(part, `server, after the first call of ${many}`, { size, rss_mb: child.rss() / mb }))
  const single = await bench.quietServer(await bench.scratch(size, 'local'))
  const queries = Array.from({ length: warm }, (_, at) => query(at))
  const open = tokens.slice(-warm)
  const asked: [string, Child, Next][] = [
    ['a server with one', single, inTurn(queries.map((body) => post(single, body)))],
    ['one of the open ones', child, inTurn(queries.map((body) => post(child, body, open[0])))],
    [`over ${warm} open ones`, child, inTurn(queries.map((body, at) => post(child, body, open[at])))],
    // As one, but for what the processor's caches no longer hold when the next call is of another.
    [
      `${warm} calls of each open one`,
      child,
      inTurn(open.flatMap((by) => queries.map((body) => post(child, body, by)))),
    ],
  ]
  // In turns, since the machine itself is faster in one minute than in the next.
  const found = asked.map((): Figures[] => [])
  for (let round = 0; round < rounds; round++)
    for (const [at, [, server, next]] of asked.entries()) found[at]!.push(await readFigures(server, next))
  for (const [at, [what]] of asked.entries())
    bench.add(rowOf(part, `query by keyword, ${what}`, { size, ...middle(found[at]!) }))
  await single.stop()
  bench.add(rowOf(part, `server, after reads`, { size, rss_mb: child.rss() / mb }))
  await child.stop()
}

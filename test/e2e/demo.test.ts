/** The main job over HTTP with the real model: real decisions are taken in, and questions find them. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { Readable } from 'node:stream'
import { pepMaterial, shopMaterial } from '../../docs/demo/material.ts'
import { connect } from '../../src/cli/connection.ts'
import { load } from '../../src/cli/import-load.ts'
import { openRemote } from '../../src/cli/remote.ts'
import { bareEnv, type Service, serve, testDir } from '../support/process.ts'

// Hundreds of texts go through the model; a busy machine takes its time.
setDefaultTimeout(600_000)

/** Sources of which one must be among the first three, by the beginning of a question; null where nothing is a precedent. */
const pepAnswers: Record<string, string | string[] | null> = {
  'Should the language get a switch': 'PEP 3103',
  // The rejected frozendict, and the later one that answers the question as well.
  'A dictionary that cannot': ['PEP 416', 'PEP 814'],
  'How can threads run': 'PEP 703',
  'Protect hash tables': 'PEP 456',
  'Fill values into SQL': 'PEP 750',
  'Walk through huge folders': 'PEP 471',
  'How is the coffee machine': null,
}
const shopAnswers: Record<string, string | null> = {
  'Where should the basket': 'shop-04',
  'What do we do when the payment': 'shop-07',
  'May we cache prices': 'shop-13',
  'At which moment is an item': 'shop-20',
  'Which type for amounts': 'shop-21',
  'How is the coffee machine': null,
}

const peps = await pepMaterial()
if (!peps) console.warn('../shared/data/peps.jsonl is not there: the decisions of docs/demo take its place')
const { lines: all, questions } = peps ?? shopMaterial()
const expected = peps ? pepAnswers : shopAnswers
interface Given {
  line: number
  value: { source: string; outcome?: string; links?: { target: string }[] }
}
/** The answers among a tenth of the others, since the model is most of the time; `bun run eval` measures it among all. */
const some = ((await Array.fromAsync(all)) as Given[]).filter(
  ({ line, value }) => peps === null || line % 10 === 0 || Object.values(pepAnswers).flat().includes(value.source),
)
const known = new Set(some.map(({ value }) => value.source))
const lines = some.map(({ line, value }) => {
  const links = value.links?.filter(({ target }) => known.has(target))
  return { line, value: { ...value, ...(links && { links }) } }
})

test('what was taken in is found by meaning', async () => {
  const dir = await testDir()
  const env = bareEnv(dir, { CSTP_EMBEDDER: 'local', CSTP_RATE_LIMIT: '0', CSTP_LOG_LEVEL: 'error' })
  const answers = async ({ url }: Service) => {
    const { call } = connect((await openRemote({ url, data_dir: dir })).send)
    const found = []
    for (const query of questions) {
      const { decisions, scores, no_precedent } = await call('queryDecisions', {
        query,
        retrieval_mode: 'hybrid',
        limit: 3,
      })
      const hits = []
      for (const { id } of decisions) {
        const { source_key } = await call('getDecision', { id })
        hits.push({ source_key, score: scores[id]!.combined })
      }
      found.push({ query, no_precedent, hits })
    }
    return found
  }

  const server = await serve(env)
  const { send, get } = await openRemote({ url: server.url, data_dir: dir, admin: 'always' })
  const connection = connect(send)
  const problems: string[] = []
  const done = await load(Readable.from(lines), {
    connection,
    problem: (line, reason) => problems.push(`${line}: ${reason}`),
  })
  expect(problems).toEqual([])
  const reviewed = lines.filter(({ value }) => value.outcome != null).length
  expect(done).toMatchObject({ imported: lines.length, reviewed, existing: 0, skipped: 0, incomplete: 0 })
  for (let waited = 0; waited < 600; waited++) {
    const metrics = await (await get('/metrics')).text()
    if (/^cstp_outbox_depth 0$/m.test(metrics)) break
    await Bun.sleep(200)
  }
  const found = await answers(server)
  expect((await server.stop()).status).toBe(0)

  for (const [beginning, source] of Object.entries(expected)) {
    const { no_precedent, hits } = found.find(({ query }) => query.startsWith(beginning))!
    expect({ beginning, no_precedent }).toEqual({ beginning, no_precedent: source === null })
    if (source !== null)
      expect(hits.some(({ source_key }) => [source].flat().some((one) => one === source_key))).toBe(true)
  }
})

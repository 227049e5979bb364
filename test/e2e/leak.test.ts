/**
 * No method holds all decisions in memory: what the server adds to its resident memory while one runs does not grow with the number
 * of decisions, all of one project. `CSTP_SOAK=1` compares 10 000 with 100 000 decisions.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Bench, openBench, token } from '../bench/bench.ts'
import { callBody } from '../bench/calls.ts'
import { runToEnd } from '../bench/process.ts'
import { temporaryDir } from '../support/process.ts'

const [few, many] = process.env.CSTP_SOAK === '1' ? [10_000, 100_000] : [1_000, 8_000]
const mb = 1_048_576
/** A record of the corpus takes 3 KB as JSON and more than twice that as an object: so much is less than half of all of them. */
const slackBytes = process.env.CSTP_SOAK === '1' ? 64 * mb : 24 * mb
const project = 'team/service-0'

/**
 * A collector that leaves garbage of a twentieth of the heap, and runs while nothing else does: this separates what a method holds from what
 * it has released, however busy the machine is.
 */
const eager = { BUN_JSC_heapGrowthMaxIncrease: '0.05', BUN_JSC_useConcurrentGC: '0' }

const calls: [method: string, params: object][] = [
  ['getCalibration', {}],
  ['getStats', {}],
  ['ready', {}],
  ['checkDrift', {}],
  ['getReasonStats', {}],
  ['getWisdom', {}],
  ['getCompacted', {}],
  ['compact', {}],
  ['listDecisions', { limit: 100, sort: 'confidence', offset: 500 }],
  ['queryDecisions', { query: 'the of and', retrieval_mode: 'keyword', limit: 20 }],
  ['getSessionContext', { task_description: 'the of and' }],
  ['attributeOutcomes', { project, since: '9999d', dry_run: true }],
]

let bench: Bench
let root: string
beforeAll(async () => {
  bench = await openBench([few, many], () => {})
  root = await temporaryDir()
})
afterAll(async () => {
  await bench.close()
  await rm(root, { recursive: true, force: true })
})

/** Bytes that each method added at most while it first ran: what is released later stays with the process, and would hide what a second round holds. */
async function growth(size: number): Promise<Map<string, number>> {
  const place = join(root, String(size))
  await runToEnd('test/bench/entries/seed.ts', [place, size, 'hash', 1])
  const server = await bench.server(place, { embedder: 'hash', bun: ['--smol'], env: eager })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const ask = async (method: string, params: object) => {
    const answer = await fetch(`${server.url}/cstp`, { method: 'POST', headers, body: callBody(method, params) })
    const { result, error } = (await answer.json()) as { result?: { degraded?: boolean }; error?: unknown }
    if (error) throw new Error(`${method}: ${JSON.stringify(error)}`)
    return result
  }
  // The index is filled in the background and is in memory, as it is meant to be: only then is growth that of methods.
  while ((await ask('queryDecisions', { query: 'the of and' }))?.degraded) await Bun.sleep(100)
  const found = new Map<string, number>()
  for (const [method, params] of calls) {
    server.forgetPeak()
    const before = server.rss()
    for (let times = 0; times < 3; times++) await ask(method, params)
    found.set(method, server.peakRss() - before)
  }
  await server.stop()
  return found
}

test.skipIf(process.platform !== 'linux')(
  `what methods add to memory is alike at ${few} and ${many} decisions${process.platform === 'linux' ? '' : ' (skipped: /proc tells it)'}`,
  async () => {
    const [small, large] = [await growth(few), await growth(many)]
    const table = calls.map(([method]) => {
      const [at_few, at_many] = [small.get(method)!, large.get(method)!]
      return {
        method,
        at_few_mb: Math.round(at_few / mb),
        at_many_mb: Math.round(at_many / mb),
        ok: at_many - at_few < slackBytes,
      }
    })
    if (process.env.CSTP_SOAK === '1') console.table(table)
    expect(table.filter(({ ok }) => !ok)).toEqual([])
  },
  3_600_000,
)

/**
 * What a request costs: the ceiling of Bun.serve with nothing behind it (on PostgreSQL, a plain select) against getDecision and listDecisions.
 */
import type { Bench } from '../bench.ts'
import { answerBytes, callBody, inTurn, post, readFigures, shuffled } from '../calls.ts'
import { idOf } from '../corpus.ts'
import { against, type Row, rowOf } from '../report.ts'
import { plainSelect } from './plain.ts'

const part = 'http'
const asked = 10_000

async function echo(bench: Bench, what: string, bytes: number, body: string): Promise<Row> {
  const child = await bench.echo(bytes)
  const found = await readFigures(child, () => post(child, body))
  await child.stop()
  return bench.add(rowOf(part, `${what} (${bytes} bytes)`, { servers: null, ...found }))
}

export async function http(bench: Bench): Promise<void> {
  for (const size of bench.sizes) {
    const place = await bench.seeded(size)
    const plain = bench.store === 'postgres' ? await plainSelect(bench, part, place, size) : null
    for (const servers of bench.serversAt(size)) await measure(bench, size, servers, plain)
  }
}

async function measure(bench: Bench, size: number, servers: number, plain: Row | null): Promise<void> {
  const child = await bench.quietServer(await bench.seeded(size), { servers })
  const add = async (what: string, bodies: string[], base: Row | null) => {
    const requests = inTurn(bodies.map((body) => post(child, body)))
    const row = rowOf(part, what, { size, servers, ...(await readFigures(child, requests)) })
    return bench.add(base ? against(row, base) : row)
  }
  const one = callBody('getDecision', { id: idOf(0) })
  const list = callBody('listDecisions', { limit: 20 })
  const gets = shuffled(size, asked, 1).map((number) => callBody('getDecision', { id: idOf(number) }))
  const ceiling = plain ?? (await echo(bench, 'echo of a getDecision', await answerBytes(child, one), one))
  await add('getDecision', gets, ceiling)
  const large = plain ?? (await echo(bench, 'echo of a list of 20', await answerBytes(child, list), list))
  await add('listDecisions, newest 20', [list], large)
  await child.stop()
}

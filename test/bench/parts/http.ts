/** What a request costs: the ceiling of Bun.serve with nothing behind it, against /health, getDecision and listDecisions. */
import type { Bench } from '../bench.ts'
import { answerBytes, callBody, get, inTurn, post, readFigures, shuffled } from '../calls.ts'
import { categoryOf, idOf } from '../corpus.ts'
import { isOk } from '../load.ts'
import { against, type Row, rowOf } from '../report.ts'

const part = 'http'
const asked = 10_000

async function echo(bench: Bench, what: string, bytes: number, body: string): Promise<Row> {
  const child = await bench.echo(bytes)
  const found = await readFigures(child, () => post(child, body))
  await child.stop()
  return bench.add(rowOf(part, `${what} (${bytes} bytes)`, found))
}

export async function http(bench: Bench): Promise<void> {
  for (const size of bench.sizes) {
    const child = await bench.server(await bench.seeded(size))
    const add = async (what: string, bodies: string[], base: Row | null) => {
      const requests = inTurn(bodies.map((body) => post(child, body)))
      const row = rowOf(part, what, { size, ...(await readFigures(child, requests)) })
      return bench.add(base ? against(row, base) : row)
    }
    const one = callBody('getDecision', { id: idOf(0) })
    const list = callBody('listDecisions', { limit: 20 })
    const ceiling = await echo(bench, 'echo of a getDecision', await answerBytes(child, one), one)
    const health = get(child, '/health')
    bench.add(against(rowOf(part, '/health', { size, ...(await readFigures(child, () => health, isOk)) }), ceiling))
    const gets = shuffled(size, asked, 1).map((number) => callBody('getDecision', { id: idOf(number) }))
    await add('getDecision', gets, ceiling)
    const large = await echo(bench, 'echo of a list of 20', await answerBytes(child, list), list)
    await add('listDecisions, newest 20', [list], large)
    const filtered = shuffled(size, 100, 2).map((number) =>
      callBody('listDecisions', { limit: 20, category: categoryOf(number), sort: 'confidence' }),
    )
    await add('listDecisions, a category by confidence', filtered, large)
    await child.stop()
  }
}

/** Methods that look at many decisions at once. */
import type { Bench } from '../bench.ts'
import { callBody, inTurn, post, readFigures } from '../calls.ts'
import { questionOf } from '../corpus.ts'
import { isResult } from '../load.ts'
import { rowOf } from '../report.ts'

const asked = 200

export async function statistics(bench: Bench): Promise<void> {
  for (const size of bench.sizes) {
    const child = await bench.quietServer(await bench.seeded(size))
    const calls: Record<string, (number: number) => object> = {
      getStats: () => ({}),
      ready: () => ({}),
      getCalibration: () => ({}),
      getSessionContext: (number) => ({ task_description: questionOf(number, size) }),
    }
    for (const [method, params] of Object.entries(calls)) {
      const next = inTurn(Array.from({ length: asked }, (_, at) => post(child, callBody(method, params(at)))))
      bench.add(rowOf('statistics', method, { size, ...(await readFigures(child, next, isResult, 8)) }))
    }
    await child.stop()
  }
}

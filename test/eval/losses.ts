/** Where hybrid finds fewer answers than one of its legs, and whether that is more than chance: a sign test over the questions that only one of both answers. */
import { answers, kindsOf, type Row, recall } from './classes.ts'
import { answeredWithin, table } from './figures.ts'

/** Probability that chance alone gives one of two equal rankers at least `lost` of the questions that only one of them answers. */
export function signTest(lost: number, won: number): number {
  const all = lost + won
  let [ways, sum] = [1, 0]
  for (let at = 0; at <= all; at++) {
    if (at >= lost) sum += ways
    ways = (ways * (all - at)) / (at + 1)
  }
  return sum / 2 ** all
}

/** Each class of a row, and recall@1 and @5, by which the better leg answers more questions than hybrid. */
export const lossesOf = ({ corpus, size, told }: Row) =>
  kindsOf(told).flatMap((kind) =>
    [1, 5].flatMap((k) => {
      const hybrid = answers(told, 'hybrid', kind)
      const [leg, best] = (['semantic', 'keyword'] as const)
        .map((by) => [by, answers(told, by, kind)] as const)
        .reduce((a, b) => (recall(b[1], k) > recall(a[1], k) ? b : a))
      const isRight = answeredWithin(k)
      const only = best.map((one, at) => isRight(one) - isRight(hybrid[at]!))
      const [lost, won] = [1, -1].map((sign) => only.filter((one) => one === sign).length) as [number, number]
      return lost > won ? [{ corpus, size, kind, n: best.length, k, leg, lost, won, p: signTest(lost, won) }] : []
    }),
  )

export const lossTable = (rows: readonly Row[]): string =>
  table(
    ['corpus', 'decisions', 'questions', 'n', 'recall@', 'better leg', 'only the leg', 'only hybrid', 'p'],
    1,
    rows.flatMap(lossesOf).map(({ p, ...one }) => [...Object.values(one), p.toFixed(2)]),
  )

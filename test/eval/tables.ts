/** The tables of the guide: how often `no_precedent` is said rightly and wrongly, and what each threshold of a semantic condition finds. */
import { type Answered, answeredWithin, percent, table } from './figures.ts'

export const modes = ['semantic', 'keyword', 'hybrid'] as const

export interface Asked extends Answered {
  /** 1 − cosine distance of each ranked decision, in semantic mode. */
  similarities: readonly number[]
  no_precedent: boolean
}

/** The answers to one part of the questions, by mode or baseline. */
export interface Told {
  part: string
  answers: ReadonlyMap<string, readonly Asked[]>
}

/** How many decisions of a question are looked at for their similarity. */
export const similarLooked = 100

const shareOf = (asked: readonly Asked[], holds: (one: Asked) => boolean): string =>
  asked.length === 0 ? '–' : percent(asked.filter(holds).length / asked.length)

/** `92.5 / 90.4`: the share of the questions of a kind, of each part. */
const shares = (told: readonly Told[], by: string, kind: string, holds: (one: Asked) => boolean): string =>
  told
    .map(({ answers }) =>
      shareOf(
        (answers.get(by) ?? []).filter((one) => one.kind === kind),
        holds,
      ),
    )
    .join(' / ')

const counts = (told: readonly Told[], kind: string): string =>
  told.map(({ answers }) => (answers.get('hybrid') ?? []).filter((one) => one.kind === kind).length).join(' / ')

const questionKinds = { 'off-topic': 'off the topic', everyday: 'everyday', paraphrase: 'other words', exact: 'terms' }

const note = (told: readonly Told[]): string =>
  `Percent of the questions, ${told.map(({ part }) => part).join(' / ')}; the header has the number of questions.`

const headOf = (first: string, told: readonly Told[]): string[] => [
  first,
  ...Object.entries(questionKinds).map(([kind, name]) => `${name} (${counts(told, kind)})`),
]

/** `no_precedent` by mode: right for questions off the topic, wrong for the others. */
export function noPrecedentTable(told: readonly Told[]): string {
  const rows = modes.map((mode) => [
    `\`${mode}\``,
    ...Object.keys(questionKinds).map((kind) => shares(told, mode, kind, ({ no_precedent }) => no_precedent)),
  ])
  return `${table(headOf('`no_precedent`', told), 1, rows)}\n\n${note(told)}`
}

const isAmongFive = (one: Asked): boolean => answeredWithin(5)(one) === 1

/** Share of the questions whose answer is among the first five, by mode and baseline. */
export function retrievalTable(told: readonly Told[]): string {
  const { 'off-topic': _, ...kinds } = questionKinds
  const rows = [...(told[0]?.answers.keys() ?? [])].map((by) => [
    `\`${by}\``,
    ...Object.keys(kinds).map((kind) => shares(told, by, kind, isAmongFive)),
  ])
  const head = [
    'among the first five',
    ...Object.entries(kinds).map(([kind, name]) => `${name} (${counts(told, kind)})`),
  ]
  return `${table(head, 1, rows)}\n\n${note(told)}\n\nWritten by \`bun run eval --write\`.`
}

/** The sentence of the README: hybrid search on the questions that nothing was tuned on. */
export function retrievalLine(told: readonly Told[]): string {
  const [heldOut] = told.slice(-1)
  const found = (by: string): string =>
    shareOf(
      (heldOut?.answers.get(by) ?? []).filter(({ expected }) => expected.length > 0),
      isAmongFive,
    )
  return `**Ask what was decided before.** The decision that answers a question is among the first five in ${found('hybrid')} % of held-out questions about 679 real ones, against ${found('grep')} % with grep: with its outcome, its lesson and whether it was superseded.`
}

const thresholds = [0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8]

const similarTo = ({ similarities }: Asked, threshold: number): number =>
  similarities.filter((one) => one >= threshold).length

/** Whether the decision that answers a question is similar enough; off the topic, whether any is. */
const finds = ({ expected, ranked, similarities }: Asked, threshold: number): boolean =>
  similarities.some((one, at) => one >= threshold && (expected.length === 0 || expected.includes(ranked[at]!)))

/** What a semantic condition finds, by its threshold: rightly where something answers, wrongly off the topic. */
export function thresholdTable(told: readonly Told[]): string {
  const rows = thresholds.map((threshold) => [
    threshold,
    ...Object.keys(questionKinds).map((kind) => shares(told, 'semantic', kind, (one) => finds(one, threshold))),
    told
      .map(({ answers }) => {
        const asked = (answers.get('semantic') ?? []).filter(({ expected }) => expected.length > 0)
        return (asked.reduce((sum, one) => sum + similarTo(one, threshold), 0) / Math.max(asked.length, 1)).toFixed(1)
      })
      .join(' / '),
  ])
  return `${table([...headOf('`threshold`', told), 'decisions found'], 0, rows)}\n\n${note(told)}`
}

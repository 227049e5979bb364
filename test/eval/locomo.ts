/**
 * LoCoMo: questions on long conversations with the turns that answer them. The data set (CC BY-NC 4.0) is not part of this repository:
 * `bun run eval --locomo locomo10.json` measures on a copy of one's own. @see https://github.com/snap-research/LoCoMo
 */
import { bm25, type Document, grep, type Ranker } from './baselines.ts'
import { type Engine, openEngine } from './engine.ts'
import { type Answered, figureOf, reciprocalRank, shareWithin, shown, table } from './figures.ts'

interface Turn {
  speaker: string
  dia_id: string
  text: string
  blip_caption?: string
}

interface Conversation {
  sample_id: string
  qa: { question: string; evidence?: string[]; category: number }[]
  conversation: Record<string, string | Turn[]>
}

/** Categories as the paper numbers them; the last has no answer in the conversation. */
const categories: Record<number, string> = {
  1: 'multi-hop',
  2: 'temporal',
  3: 'open domain',
  4: 'single-hop',
  5: 'no answer',
}
const noAnswer = 5
const deepest = 10

interface Unit extends Document {
  date: string
}

/** A turn, or a whole session, as one document. */
function unitsOf({ conversation }: Conversation, by: 'turns' | 'sessions'): Unit[] {
  return Object.entries(conversation).flatMap(([key, turns]): Unit[] => {
    if (!Array.isArray(turns)) return []
    const date = String(conversation[`${key}_date_time`] ?? '')
    const said = turns.map(({ speaker, text, blip_caption, dia_id }) => ({
      source: dia_id,
      text: `${speaker}: ${text}${blip_caption ? ` [shares ${blip_caption}]` : ''}`,
      date,
    }))
    if (by === 'turns') return said
    return [{ source: sessionOf(turns[0]?.dia_id ?? ''), text: said.map(({ text }) => text).join('\n'), date }]
  })
}

const sessionOf = (dia_id: string): string => dia_id.split(':')[0]!

async function record(engine: Engine, units: readonly Unit[]): Promise<Map<string, string>> {
  const sources = new Map<string, string>()
  for (const { source, text, date } of units) {
    const decision = text.slice(0, 300)
    const { decision_id } = (await engine.call('recordDecision', {
      decision,
      category: 'conversation',
      confidence: 0.5,
      context: decision === text ? `Said on ${date}` : `Said on ${date}\n${text}`,
    })) as { decision_id: string }
    sources.set(decision_id, source)
  }
  return sources
}

const modes = ['semantic', 'keyword', 'hybrid'] as const
const scores = {
  'recall@1': shareWithin(1),
  'recall@5': shareWithin(5),
  'recall@10': shareWithin(10),
  'MRR@10': reciprocalRank,
}

/** The tables of all measurements. */
export async function locomo(file: string): Promise<string> {
  const told: string[] = []
  const conversations = (await Bun.file(file).json()) as Conversation[]
  for (const by of ['turns', 'sessions'] as const) {
    const answers = new Map<string, Answered[]>()
    const flagged: { answerable: boolean; no_precedent: boolean }[] = []
    const add = (ranker: string, one: Answered) => answers.set(ranker, [...(answers.get(ranker) ?? []), one])
    for (const conversation of conversations) {
      const units = unitsOf(conversation, by)
      const engine = await openEngine()
      const sources = await record(engine, units)
      const baselines: [string, Ranker][] = [
        ['grep', grep(units, deepest)],
        ['BM25', bm25(units, deepest)],
      ]
      for (const { question, evidence = [], category } of conversation.qa) {
        const kind = categories[category] ?? String(category)
        // Some entries name several turns in one text, or a turn that is not there.
        const named = evidence.flatMap((one) => one.match(/D\d+:\d+/g) ?? []).map((one) => one.replace(/:0+/, ':'))
        const known = new Set(units.map(({ source }) => source))
        const expected = [...new Set(by === 'turns' ? named : named.map(sessionOf))].filter((one) => known.has(one))
        for (const mode of modes) {
          const found = (await engine.call('queryDecisions', {
            query: question,
            retrieval_mode: mode,
            limit: deepest,
          })) as {
            decisions: { id: string }[]
            no_precedent: boolean
          }
          if (mode === 'hybrid') flagged.push({ answerable: category !== noAnswer, no_precedent: found.no_precedent })
          if (category === noAnswer || expected.length === 0) continue
          add(mode, { kind, expected, ranked: found.decisions.map(({ id }) => sources.get(id)!) })
        }
        if (category === noAnswer || expected.length === 0) continue
        for (const [name, rank] of baselines) add(name, { kind, expected, ranked: rank(question) })
      }
      await engine.close()
    }
    const kinds = [...Object.values(categories).filter((kind) => kind !== categories[noAnswer]), 'all']
    const rows = kinds.flatMap((kind) =>
      [...answers].map(([ranker, all]) => {
        const asked = all.filter((one) => kind === 'all' || one.kind === kind)
        return [kind, asked.length, ranker, ...Object.values(scores).map((score) => shown(figureOf(asked, score)))]
      }),
    )
    told.push(`One decision a ${by.slice(0, -1)}: share of the evidence found, in percent (95 % bootstrap).`)
    told.push(table(['category', 'n', 'by', ...Object.keys(scores)], 1, rows))
    const share = (of: typeof flagged) =>
      `${((100 * of.filter(({ no_precedent }) => no_precedent).length) / Math.max(of.length, 1)).toFixed(1)} % of ${of.length}`
    told.push(
      `\`no_precedent\` (hybrid): questions without an answer ${share(flagged.filter(({ answerable }) => !answerable))}, ` +
        `with one ${share(flagged.filter(({ answerable }) => answerable))}`,
    )
  }
  return told.join('\n\n')
}

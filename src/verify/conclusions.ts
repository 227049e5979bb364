/** Recomputes the conclusions of a bundle from its events, and compares them entry by entry. */
import type { VerifiedEvent } from './chain.ts'
import { addRules, type Conclusion, type Fields, type Findings, openBook, openConclusions } from './findings.ts'
import { canonicalText } from './read.ts'

export type ListName = 'mappings' | 'insufficient_evidence' | 'unmapped'
const classes = ['observed', 'attested'] as const

/** Entries that one event contributes to each list. */
const entriesOf: Record<ListName, (conclusion: Conclusion, unmapped: Fields) => Fields[]> = {
  mappings: ({ mappings }) => mappings,
  insufficient_evidence: ({ insufficient }) => insufficient,
  unmapped: ({ mappings }, unmapped) => (mappings.length === 0 ? [unmapped] : []),
}

type Template = (pr: number | null, seq: number) => string

/** Canonical text of an entry, given its pull request and its number. */
function templateOf(entry: Fields): Template {
  const pieces: string[] = []
  let text = ''
  for (const [at, key] of [...Object.keys(entry), 'pr_number', 'seq'].sort().entries()) {
    text += `${at === 0 ? '{' : ','}${canonicalText(key)}:`
    if (key === 'pr_number' || key === 'seq') {
      pieces.push(text)
      text = ''
    } else text += canonicalText(entry[key])
  }
  const [before, middle] = pieces
  return (pr, seq) => `${before}${pr}${middle}${seq}${text}}`
}

/** Rounded as the service does: two decimals, 0 only for none and 100 only for all. */
function percent(part: number, whole: number): number {
  if (whole === 0 || part === 0) return 0
  if (part === whole) return 100
  const rounded = Math.round((part * 10_000) / whole) / 100
  return Math.min(99.99, Math.max(0.01, rounded))
}

interface Conclusions {
  rules(set: unknown): void
  /** @param event null if it could not be read: it has no conclusions */
  event(event: VerifiedEvent | null): void
  /** The next entry of a list in the bundle. */
  entry(list: ListName, text: string): void
  /** Compares the single values of the bundle. */
  end(stated: { coverage: unknown; insufficient_evidence_count: unknown; attested_only_controls: unknown }): void
  counts(): { mapped: Record<'observed' | 'attested', number>; insufficient: number }
}

export function openConclusionsCheck(findings: Findings): Conclusions {
  const book = openBook()
  let concluding: ReturnType<typeof openConclusions> | null = null
  /** By event; `kinds` holds indexes in `made`, −1 for an event without entries. */
  const kinds: number[] = []
  const prs: (number | null)[] = []
  const known = new Map<Conclusion, number>()
  /** Entries of each list by kind. */
  const made: Record<ListName, Template[]>[] = []
  const tally = { observed: { total: 0, mapped: 0 }, attested: { total: 0, mapped: 0 } }
  const sources = { observed: new Map<string, number>(), attested: new Map<string, number>() }
  const spoken = { observed: new Set<unknown>(), attested: new Set<unknown>() }
  let insufficient = 0
  const places: Record<ListName, { event: number; entry: number; count: number }> = {
    mappings: { event: 0, entry: 0, count: 0 },
    insufficient_evidence: { event: 0, entry: 0, count: 0 },
    unmapped: { event: 0, entry: 0, count: 0 },
  }

  /** The expected next entry, as text; null at the end of the list. */
  const next = (list: ListName): { text: string; seq: number } | null => {
    const place = places[list]
    for (; place.event < kinds.length; place.event++, place.entry = 0) {
      const entry = made[kinds[place.event]!]?.[list][place.entry]
      if (!entry) continue
      place.entry++
      const seq = place.event + 1
      return { text: entry(prs[place.event]!, seq), seq }
    }
    return null
  }
  const same = (name: string, stated: unknown, right: unknown) => {
    if (canonicalText(stated ?? null) !== canonicalText(right))
      findings.add('conclusions', `${name} is not what follows from the events: ${canonicalText(right).slice(0, 300)}`)
  }

  return {
    rules(set) {
      if (!addRules(book, set)) findings.add('conclusions', 'control_rules contains an invalid set of rules')
    },
    event(event) {
      concluding ??= openConclusions(book)
      if (event === null) {
        kinds.push(-1)
        prs.push(null)
        return
      }
      const { event_type, evidence_class, payload, source } = event
      const conclusion = concluding(event_type, evidence_class, payload)
      let kind = known.get(conclusion)
      if (kind === undefined) {
        const templates = (list: ListName) =>
          entriesOf[list](conclusion, { event_type, evidence_class }).map(templateOf)
        kind =
          made.push({
            mappings: templates('mappings'),
            insufficient_evidence: templates('insufficient_evidence'),
            unmapped: templates('unmapped'),
          }) - 1
        known.set(conclusion, kind)
        for (const { function_id } of conclusion.mappings) spoken[evidence_class].add(function_id)
      }
      kinds.push(kind)
      const { pr_number } = payload
      prs.push(Number.isSafeInteger(pr_number) ? (pr_number as number) : null)
      tally[evidence_class].total++
      if (conclusion.mappings.length > 0) tally[evidence_class].mapped++
      insufficient += conclusion.insufficient.length
      sources[evidence_class].set(source, (sources[evidence_class].get(source) ?? 0) + 1)
    },
    entry(list, text) {
      const place = places[list]
      const right = next(list)
      place.count++
      if (right === null) findings.add('conclusions', `${list}: entry ${place.count} follows from no event`)
      else if (right.text !== text)
        findings.add(
          'conclusions',
          `${list}: entry ${place.count} is not what follows from event ${right.seq}`,
          right.seq,
        )
    },
    end(stated) {
      for (const list of Object.keys(places) as ListName[]) {
        const missing = next(list)
        if (missing)
          findings.add('conclusions', `${list}: what follows from event ${missing.seq} is missing`, missing.seq)
      }
      const coverage = classes.map((name) => {
        const { total, mapped } = tally[name]
        const by_source = [...sources[name]]
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([source, events]) => ({ source, events }))
        const coverage_pct = percent(mapped, total)
        const figures = {
          total_events: total,
          mapped_events: mapped,
          unmapped_events: total - mapped,
          coverage_pct,
          by_source,
        }
        return [name, figures] as const
      })
      same('coverage', stated.coverage, Object.fromEntries(coverage))
      same('insufficient_evidence_count', stated.insufficient_evidence_count, insufficient)
      const alone = [...spoken.attested].filter((control) => !spoken.observed.has(control)).map(String)
      same(
        'attested_only_controls',
        stated.attested_only_controls,
        alone.sort((a, b) => (a < b ? -1 : 1)),
      )
    },
    counts: () => ({ mapped: { observed: tally.observed.mapped, attested: tally.attested.mapped }, insufficient }),
  }
}

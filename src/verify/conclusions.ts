/** Recomputes the conclusions of a bundle from its events, and compares them entry by entry. */
import type { BundleFindings } from './bundle-checks.ts'
import type { VerifiedEvent } from './chain.ts'
import { canonicalText } from './read.ts'
import { addRules, type Conclusion, entriesOf, type ListName, openBook, openConclusions } from './rules.ts'

const classes = ['observed', 'attested'] as const
const lists = Object.keys(entriesOf) as ListName[]

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

export function openConclusionsCheck(findings: BundleFindings): Conclusions {
  const book = openBook()
  let concluding: ReturnType<typeof openConclusions> | null = null
  /** By event; null for one that could not be read. */
  const events: ({ conclusion: Conclusion; pr: number | null } | null)[] = []
  const tally = { observed: { total: 0, mapped: 0 }, attested: { total: 0, mapped: 0 } }
  const sources = { observed: new Map<string, number>(), attested: new Map<string, number>() }
  const spoken = { observed: new Set<unknown>(), attested: new Set<unknown>() }
  let insufficient = 0

  /** What follows from the events, entry by entry. */
  function* expected(list: ListName): Generator<{ text: string; seq: number }> {
    for (const [at, event] of events.entries())
      for (const entry of event ? entriesOf[list](event.conclusion, event.pr, at + 1) : [])
        yield { text: JSON.stringify(entry), seq: at + 1 }
  }
  const compared = Object.fromEntries(lists.map((list) => [list, { expected: expected(list), count: 0 }])) as Record<
    ListName,
    { expected: ReturnType<typeof expected>; count: number }
  >

  const same = (name: string, stated: unknown, right: unknown) => {
    if (canonicalText(stated ?? null) !== canonicalText(right))
      findings.fail('conclusions', `${name} is not what follows from the events: ${canonicalText(right).slice(0, 300)}`)
  }

  return {
    rules(set) {
      if (!addRules(book, set)) findings.fail('conclusions', 'control_rules contains an invalid set of rules')
    },
    event(event) {
      concluding ??= openConclusions(book)
      if (event === null) {
        events.push(null)
        return
      }
      const { event_type, evidence_class, payload, source } = event
      // What was inferred supports no control.
      if (evidence_class === 'inferred') {
        events.push(null)
        return
      }
      const conclusion = concluding(event_type, evidence_class, payload)
      const { pr_number } = payload
      events.push({ conclusion, pr: Number.isSafeInteger(pr_number) ? (pr_number as number) : null })
      for (const { function_id } of conclusion.mapped) spoken[evidence_class].add(function_id)
      tally[evidence_class].total++
      if (conclusion.mapped.length > 0) tally[evidence_class].mapped++
      insufficient += conclusion.insufficient.length
      sources[evidence_class].set(source, (sources[evidence_class].get(source) ?? 0) + 1)
    },
    entry(list, text) {
      const count = ++compared[list].count
      const { value: right } = compared[list].expected.next()
      if (!right) findings.fail('conclusions', `${list}: entry ${count} follows from no event`)
      else if (right.text !== text)
        findings.fail('conclusions', `${list}: entry ${count} is not what follows from event ${right.seq}`, right)
    },
    end(stated) {
      for (const list of lists) {
        const { value: missing } = compared[list].expected.next()
        if (missing) findings.fail('conclusions', `${list}: what follows from event ${missing.seq} is missing`, missing)
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

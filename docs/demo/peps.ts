/** Python Enhancement Proposals as decisions: rows of ../shared/data/peps.jsonl to lines that cstp import accepts. */
import type { ImportLine } from '../../src/cli/import-lines.ts'

export interface Pep {
  /** Such as `PEP 255`. */
  source: string
  decision: string
  category: string
  context: string | null
  motivation: string | null
  alternatives_considered: string[]
  date: string
  status: string
  outcome: 'success' | 'failure' | 'partial' | 'abandoned' | null
  requires: number[]
  replaces: number[]
  superseded_by: number[]
  tags: string[]
  feature: string | null
}

/** The source states no confidence; this value is used for all of them. */
const filledInConfidence = 0.7

const results: Record<string, string> = {
  Final: 'Accepted and built in.',
  Rejected: 'Rejected.',
  Withdrawn: 'Withdrawn by its authors.',
  Superseded: 'Another decision took its place.',
}

/**
 * Converts all rows at once, since a superseded row names the row that supersedes it.
 * @param all keep links to proposals that are not in the data; an import reports them
 */
export function pepLines(rows: readonly Pep[], all = false): ImportLine[] {
  const known = new Set(rows.map(({ source }) => source))
  const supersedes = new Map<string, Set<string>>(rows.map(({ source }) => [source, new Set()]))
  for (const { source, replaces, superseded_by } of rows) {
    for (const older of replaces) supersedes.get(source)?.add(`PEP ${older}`)
    for (const newer of superseded_by) supersedes.get(`PEP ${newer}`)?.add(source)
  }
  return rows.map((row) => {
    const depends = row.requires.map((number) => `PEP ${number}`)
    const links = [
      ...depends.map((target) => ({ target, edge_type: 'depends_on' as const })),
      ...[...supersedes.get(row.source)!].map((target) => ({ target, edge_type: 'supersedes' as const })),
      // The edge would start at a decision that is not in the data, so it is noted at this end.
      ...row.superseded_by
        .map((number) => `PEP ${number}`)
        .filter((newer) => !known.has(newer))
        .map((target) => ({ target, edge_type: 'relates_to' as const, context: 'superseded by it' })),
      // Some rows refer to proposals that are not in the data.
    ].filter(({ target }) => (all || known.has(target)) && target !== row.source)
    return {
      source: row.source,
      date: row.date,
      agent: 'python',
      decision: row.decision,
      category: row.category,
      confidence: filledInConfidence,
      context: row.context,
      reasons: row.motivation === null ? [] : [{ type: 'analysis', text: row.motivation }],
      alternatives_considered: row.alternatives_considered,
      project: { name: 'python', feature: row.feature },
      tags: row.tags,
      outcome: row.outcome,
      ...(row.outcome !== null && { actual_result: results[row.status] ?? row.status }),
      links,
    }
  })
}

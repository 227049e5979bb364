/** The PEP decisions as parameters of recordDecision. */
import type { RecordParams } from '../../sdk/schema/record.ts'

export interface Pep {
  source: string
  decision: string
  category: string
  context: string
  motivation: string | null
  alternatives_considered: string[]
  date: string
  /** Numbers of the PEPs that this one takes the place of. */
  replaces: number[]
  tags: string[]
  feature: string | null
}

/** The source says nothing of how sure its authors were, and a record needs it. */
const confidence = 0.7

/** The title is the decision, the abstract its context, the motivation the reason: an analysis, so that it is the bridge's function. */
export function recordParams(pep: Pep): Partial<RecordParams> {
  const { source, decision, category, context, motivation, alternatives_considered, date, tags, feature } = pep
  return {
    decision,
    category,
    context,
    confidence,
    alternatives_considered,
    tags,
    source_key: source,
    created_at: date,
    reasons: motivation === null ? [] : [{ type: 'analysis', text: motivation, strength: 0.8 }],
    project: { name: 'python', feature, pr: null, files: [] },
  }
}

/** The subject of each method: groups for the reference and the client's pages. */

/** The first pattern that matches the name decides. */
const subjects: readonly [subject: string, names: RegExp][] = [
  ['Evidence', /Evidence|Checkpoint|Proof|Controls|Verification|Dossier|Receipt|Thread|Statement|Acts?$/],
  ['Policy', /Guardrail|Policy|Circuit|Breaker|Approval|Audit|preAction/],
  ['Learning', /Calibration|Drift|Wisdom|ReasonStats|attributeOutcomes|^ready$/],
  ['Memory of an agent', /Session|Thought|Tracker|ompact|Preserve/],
  ['Decisions', /Decision|Graph|Neighbors|getStats/],
]
const rest = 'Operation'

/** In the order of the reference. */
export const subjectNames: readonly string[] = [
  'Decisions',
  'Policy',
  'Learning',
  'Memory of an agent',
  'Evidence',
  rest,
]

/** @param name without `cstp.` */
export const subjectOf = (name: string): string => subjects.find(([, names]) => names.test(name))?.[0] ?? rest

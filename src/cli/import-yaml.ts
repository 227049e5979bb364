/** Converts decision files to import lines: those of this program, and YAML decisions of other programs. */
import type { DecisionFile } from '../app/yaml-import.ts'
import { isObject } from '../core/json.ts'
import { messageOf } from '../core/log.ts'
import { importLine, sourceOf } from './export-line.ts'
import { Failure } from './failure.ts'
import type { Line } from './import-lines.ts'

type Values = Record<string, unknown>
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
const maps = (value: unknown): Values[] => listOf(value).filter(isObject)
const textOf = (value: unknown): string | null =>
  value instanceof Date ? value.toISOString() : typeof value === 'string' && value.trim() !== '' ? value : null

const day = 86_400_000
/** The days between two dates as a review cadence, or nothing. */
function reviewIn(from: string | null, until: string | null): { review_in?: string } {
  const days = Math.round((Date.parse(until ?? '') - Date.parse(from ?? '')) / day)
  return days >= 1 && days <= 9_999 ? { review_in: `${days}d` } : {}
}

/** Maps the field names of other programs. Fields without a counterpart are added to the context as text. */
function fromOther(file: string, one: Values): Values {
  const date = textOf(one.date)
  const bridge = isObject(one.bridge) ? one.bridge : {}
  const deliberation = isObject(one.deliberation) ? one.deliberation : {}
  const place = {
    name: textOf(one.project),
    feature: textOf(one.feature),
    pr: typeof one.pr === 'number' ? one.pr : null,
  }
  const files = textOf(one.file)
  const rest = [
    ['Commit', textOf(one.commit)],
    ['State of mind', textOf(one.mental_state)],
    ['Indicators', listOf(one.kpi_indicators).map(String).join(', ')],
  ] as const
  const context = [textOf(one.context), ...rest.map(([name, text]) => (text ? `${name}: ${text}` : null))].filter(
    (part) => part !== null,
  )
  const reviewed = typeof one.outcome === 'string'
  return {
    source: file.replace(/^.*\//, '').replace(/\.ya?ml$/i, ''),
    decision: one.decision ?? one.summary,
    category: textOf(one.category),
    confidence: typeof one.confidence === 'number' ? one.confidence : null,
    ...(typeof one.stakes === 'string' && { stakes: one.stakes }),
    ...(date !== null && { date }),
    ...(textOf(one.recorded_by) !== null && { agent: one.recorded_by }),
    ...reviewIn(date, textOf(one.review_by)),
    context: context.length === 0 ? null : context.join('\n\n'),
    reasons: maps(one.reasons).filter(({ text }) => textOf(text) !== null),
    reasoning_trace: maps(one.trace).filter(
      ({ step, thought }) => typeof step === 'number' && textOf(thought) !== null,
    ),
    bridge: textOf(bridge.structure) !== null && textOf(bridge.function) !== null ? bridge : null,
    deliberation:
      listOf(deliberation.inputs).length + listOf(deliberation.steps).length === 0
        ? null
        : {
            inputs: maps(deliberation.inputs).map(({ text, ...input }) => ({
              type: textOf(input.source) ?? 'input',
              content: String(text ?? ''),
              ...input,
            })),
            steps: maps(deliberation.steps),
          },
    pre_decision_protocol: isObject(one.pre_decision) ? one.pre_decision : null,
    tags: listOf(one.tags).filter((tag) => textOf(tag) !== null),
    pattern: textOf(one.pattern),
    project: [place.name, place.feature, place.pr, files].every((part) => part === null)
      ? null
      : { ...place, files: files === null ? [] : [files] },
    ...(reviewed && {
      outcome: one.outcome,
      actual_result: textOf(one.actual_result),
      lessons: textOf(one.lessons),
      notes: textOf(one.review_notes),
    }),
  }
}

/** @throws Failure if the folder can't be read */
export async function yamlLines(folder: string): Promise<Line[]> {
  const { readDecisionFiles } = await import('../app/yaml-import.ts')
  const found: DecisionFile[] = []
  try {
    for await (const one of readDecisionFiles(folder)) found.push(one)
  } catch (error) {
    throw new Failure(`can't read ${folder}: ${messageOf(error)}`)
  }
  // A link names its target by id; an import needs the target's source.
  const sources = new Map(
    found.flatMap((entry) => ('record' in entry ? [[entry.record.id, sourceOf(entry.record)] as const] : [])),
  )
  return found.flatMap((entry): Line[] => {
    const { file } = entry
    if ('record' in entry) return [{ file, value: importLine(entry.record, sources) }]
    return 'other' in entry ? [{ file, value: fromOther(file, entry.other) }] : [{ file, problem: entry.problem }]
  })
}

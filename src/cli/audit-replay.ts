/** cstp audit replay: the stored inputs evaluated by the current rules. */
import { loadRules, type Replayed, replay } from '../policy/check.ts'
import type { Result } from './connection.ts'
import { fit, plain, print, type Terminal } from './terminal.ts'

interface Report {
  /** Entries that were evaluated again. */
  evaluations: number
  /** Those whose verdict depends on redacted text or on past state that is no longer known, changed or not. */
  uncertain: number
  changed: Replayed[]
}

function render({ evaluations, uncertain, changed }: Report, { width, paint }: Terminal): string {
  const colour = { pass: paint.green, warn: paint.yellow, block: paint.red }
  const lines = changed.flatMap((one) => {
    const mark = one.uncertain.length > 0 ? paint.yellow(`  uncertain: ${one.uncertain.join(', ')}`) : ''
    const removed = one.rules_before.filter((id) => !one.rules_after.includes(id)).map((id) => `-${id}`)
    const added = one.rules_after.filter((id) => !one.rules_before.includes(id)).map((id) => `+${id}`)
    return [
      `${one.at.slice(0, 19).replace('T', ' ')}  ${plain(one.agent)}  ${colour[one.before](one.before)} → ${colour[one.after](one.after)}${mark}`,
      `  ${fit(plain(one.description), width - 2)}`,
      paint.dim(`  ${plain([...removed, ...added].join(' '))}`),
    ]
  })
  const doubt = uncertain === 0 ? '' : `; ${uncertain} depend on redacted text or on past state that is no longer known`
  return `${[...lines, `${changed.length} of ${evaluations} verdicts would change${doubt}`].join('\n')}\n`
}

/**
 * @param paths of the current rules; null for the shipped ones
 * @param entries of the trail, which are not asked for before the rules are loaded
 */
export async function runReplay(
  paths: readonly string[] | null,
  entries: AsyncIterable<Result<'listAudit'>['entries'][number]>,
  run: { terminal: Terminal; json: boolean },
): Promise<number> {
  const set = await loadRules(paths)
  const report: Report = { evaluations: 0, uncertain: 0, changed: [] }
  for await (const entry of entries) {
    const found = await replay(set, entry)
    if (!found) continue
    report.evaluations++
    if (found.uncertain.length > 0) report.uncertain++
    if (found.before !== found.after) report.changed.push(found)
  }
  await print(run, report, () => render(report, run.terminal))
  return 0
}

/** cstp audit replay: the stored inputs against the rules of today. */
import { loadRules, type Replayed, replay } from '../policy/check.ts'
import { type AuditEntry, trail } from './audit.ts'
import type { Connection } from './connection.ts'
import { fit, plain, prettyJson, type Terminal } from './terminal.ts'

interface Report {
  /** Evaluations that were judged again. */
  evaluations: number
  /** Those whose answer rests on redacted text or on a state that is gone, changed or not. */
  uncertain: number
  changed: Replayed[]
}

async function replayed(
  set: Awaited<ReturnType<typeof loadRules>>,
  entries: AsyncIterable<AuditEntry>,
): Promise<Report> {
  const report: Report = { evaluations: 0, uncertain: 0, changed: [] }
  for await (const entry of entries) {
    const found = await replay(set, entry)
    if (!found) continue
    report.evaluations++
    if (found.uncertain.length > 0) report.uncertain++
    if (found.before !== found.after) report.changed.push(found)
  }
  return report
}

function render({ evaluations, uncertain, changed }: Report, { width, paint }: Terminal): string {
  const colour = { pass: paint.green, warn: paint.yellow, block: paint.red }
  const lines = changed.flatMap((one) => {
    const mark = one.uncertain.length > 0 ? paint.yellow(`  uncertain: ${one.uncertain.join(', ')}`) : ''
    const gone = one.rules_before.filter((id) => !one.rules_after.includes(id)).map((id) => `-${id}`)
    const come = one.rules_after.filter((id) => !one.rules_before.includes(id)).map((id) => `+${id}`)
    return [
      `${one.at.slice(0, 19).replace('T', ' ')}  ${plain(one.agent)}  ${colour[one.before](one.before)} → ${colour[one.after](one.after)}${mark}`,
      `  ${fit(plain(one.description), width - 2)}`,
      paint.dim(`  ${plain([...gone, ...come].join(' '))}`),
    ]
  })
  const doubt = uncertain === 0 ? '' : `; ${uncertain} rest on redacted text or on a state that is gone`
  return `${[...lines, `${changed.length} of ${evaluations} verdicts would change${doubt}`].join('\n')}\n`
}

/** @param paths where the rules of today stand; null for the shipped ones */
export async function runReplay(
  paths: readonly string[] | null,
  open: () => Promise<Connection>,
  filter: Parameters<typeof trail>[1],
  { terminal, json }: { terminal: Terminal; json: boolean },
): Promise<number> {
  const set = await loadRules(paths)
  const connection = await open()
  try {
    const report = await replayed(set, trail(connection, filter))
    await terminal.out(json ? prettyJson(report) : render(report, terminal))
    return 0
  } finally {
    await connection.close()
  }
}

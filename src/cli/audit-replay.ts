/** cstp audit replay: evaluates stored inputs again, by the archived rules of their time and by the rules in force or named. */
import { CstpError } from '../../sdk/errors.ts'
import type { Configuration } from '../app/config/config.ts'
import {
  compileArchived,
  listsIn,
  loadRules,
  type PolicySet,
  type Replay,
  type Replayed,
  replayAll,
} from '../policy/check.ts'
import type { Connection, Result } from './connection.ts'
import { Failure } from './failure.ts'
import { fit, plain, print, second, type Terminal } from './terminal.ts'

function lineOf(one: Replayed, { width, paint }: Terminal, mark: string): string[] {
  const colour = { pass: paint.green, warn: paint.yellow, modify: paint.yellow, block: paint.red }
  const painted = (answer: Replayed['before']) => (answer in colour ? colour[answer as 'pass'] : paint.red)(answer)
  const removed = one.rules_before.filter((id) => !one.rules_after.includes(id)).map((id) => `-${id}`)
  const added = one.rules_after.filter((id) => !one.rules_before.includes(id)).map((id) => `+${id}`)
  return [
    `${second(one.at)}  ${plain(one.agent)}  ${painted(one.before)} → ${painted(one.after)}${mark}`,
    `  ${fit(plain(one.description), width - 2)}`,
    paint.dim(`  ${plain([...removed, ...added].join(' '))}`),
  ]
}

function render(report: Replay, named: boolean, terminal: Terminal): string {
  const { evaluations, repeated, not_repeatable, different, uncertain, changed } = report
  const { paint } = terminal
  const doubt = uncertain === 0 ? '' : `; ${uncertain} depend on redacted text or on past state that was not recorded`
  const reasons = Object.entries(not_repeatable).map(([why, count]) => `; ${count} can't be repeated: ${why}`)
  return `${[
    ...changed.flatMap((one) => {
      const mark = one.uncertain.length > 0 ? paint.yellow(`  uncertain: ${one.uncertain.join(', ')}`) : ''
      return lineOf(one, terminal, mark)
    }),
    ...different.map(
      ({ seq, at, agent, by_its_rules: { why } }) =>
        `${paint.red('not the verdict of its rules')}: entry ${seq}, ${at}, ${plain(agent)}${why === null ? '' : `: ${why}`}`,
    ),
    `By the rules of their time ${repeated} of ${evaluations} verdicts are the same, byte by byte; ${different.length} differ${reasons.join('')}`,
    `By the ${named ? 'rules of GUARDRAILS_PATHS' : 'rules in force'} ${changed.length} of ${evaluations} verdicts would change${doubt}`,
  ].join('\n')}\n`
}

/** Looks up archived rule sets by hash, fetching each one once. */
function archive({ call }: Connection) {
  const known = new Map<string, ReturnType<typeof fetchSet>>()
  const fetchSet = async (policy_hash: string) => {
    try {
      return compileArchived(await call('getPolicy', { policy_hash }))
    } catch (error) {
      // Entries of the trail may be older than the archive.
      if (error instanceof CstpError && error.error === 'invalid_params') return null
      throw error
    }
  }
  return (hash: string) => {
    const found = known.get(hash) ?? fetchSet(hash)
    known.set(hash, found)
    return found
  }
}

/** The rules that the server has in force. */
export async function rulesInForce({ call }: Connection): Promise<PolicySet> {
  const set = compileArchived(await call('getPolicy', {}))
  if (set === 'altered') throw new Failure('the rules in force are not what their hash says: the archive was altered')
  return set
}

/**
 * @param configuration names the rules to compare with, if they are not those in force
 * @param entries of the trail, fetched only after the rules are loaded
 * @returns the exit status: 1 if a verdict differs from that of its own rules
 */
export async function runReplay(
  { settings, sources }: Configuration,
  connection: Connection,
  entries: AsyncIterable<Result<'listAudit'>['entries'][number]>,
  run: { terminal: Terminal; json: boolean },
): Promise<number> {
  const inForce = await rulesInForce(connection)
  const named = sources.guardrails_paths !== 'default'
  // Categories and environments are settings of the server, which may differ from the local files.
  const set = named
    ? await loadRules(settings.guardrails_paths, { ...listsIn(inForce.rules), packs: settings.packs })
    : inForce
  const report = await replayAll(set, archive(connection), entries)
  await print(run, report, () => render(report, named, run.terminal))
  return report.different.length > 0 ? 1 : 0
}

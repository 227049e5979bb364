/** cstp guardrails check: what is wrong with rule files, and what is suspicious about them. */
import { checkRules } from '../../../policy/check.ts'
import { plain, plural, prettyJson, type Terminal } from '../terminal.ts'

/** Resolves with the exit status: 1 where something does not load. */
export async function check(
  paths: string[] | null,
  { terminal, json }: { terminal: Terminal; json: boolean },
): Promise<number> {
  const report = await checkRules(paths)
  const { errors, findings, rules, circuit_breakers } = report
  const status = errors.length > 0 ? 1 : 0
  if (json) {
    await terminal.out(prettyJson(report))
    return status
  }
  const { paint } = terminal
  const lines = [
    ...errors.map(
      ({ file, line, column, message }) => `${plain(file)}:${line}:${column}: ${paint.red('error')}: ${plain(message)}`,
    ),
    ...findings.map(
      ({ file, line, rule, message }) =>
        `${plain(file)}:${line}: ${paint.yellow('warning')}: ${rule}: ${plain(message)}`,
    ),
    errors.length > 0
      ? `${plural(errors.length, 'error')}, ${plural(findings.length, 'warning')}: a server does not start with these files`
      : `${plural(rules, 'rule')}, ${plural(circuit_breakers, 'circuit breaker')}, ${plural(findings.length, 'warning')}`,
  ]
  await terminal.out(`${lines.join('\n')}\n`)
  return status
}

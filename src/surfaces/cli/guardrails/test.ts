/** cstp guardrails test: the table tests beside rule files. */
import { testRules } from '../../../policy/tables.ts'
import { Failure } from '../failure.ts'
import { plain, prettyJson, type Terminal } from '../terminal.ts'

/** Resolves with the exit status: 1 where a case fails or a file does not load. */
export async function test(
  directories: readonly string[],
  { terminal, json }: { terminal: Terminal; json: boolean },
): Promise<number> {
  const report = await testRules(directories, Date.now())
  const { tables, errors, rules, covered, uncovered } = report
  const cases = tables.flatMap((table) => table.cases.map((one) => ({ ...one, file: table.file })))
  const failed = cases.filter(({ problem }) => problem !== null)
  const status = failed.length + errors.length > 0 ? 1 : 0
  if (json) {
    await terminal.out(prettyJson({ ...report, cases: cases.length, failed: failed.length }))
    return status
  }
  if (cases.length + errors.length === 0)
    throw new Failure(`there are no table tests (*.test.yaml) in ${directories.join(', ')}`)
  const { paint } = terminal
  const lines = [
    ...errors.map(
      ({ file, line, column, message }) => `${plain(file)}:${line}:${column}: ${paint.red('error')}: ${plain(message)}`,
    ),
    ...failed.map(
      ({ file, line, name, problem }) =>
        `${plain(file)}:${line}: ${paint.red('failed')}: ${plain(name)}: ${plain(problem ?? '')}`,
    ),
    `${cases.length - failed.length} of ${cases.length} cases hold`,
    `${covered} of ${rules} rules are fired by some case`,
    ...uncovered.map(({ rule, file, line }) => `  ${plain(file)}:${line}: ${paint.yellow(rule)} is fired by none`),
  ]
  await terminal.out(`${lines.join('\n')}\n`)
  return status
}

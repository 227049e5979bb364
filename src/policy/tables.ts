/** Table tests on disk: `<rules>.test.yaml` next to `<rules>.yaml`, and the rules that no case fires. */
import { access, readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { RuleProblem } from '../../sdk/schema/policy.ts'
import { type CaseResult, parseTable, runTable } from '../domain/policy/rules/table.ts'
import { readPolicy, ruleFilesIn, shipped, shippedRules } from './files.ts'

interface TestReport {
  tables: { file: string; cases: CaseResult[] }[]
  errors: RuleProblem[]
  /** Number of rules in all files but the shipped ones, and how many of them some case fires. */
  rules: number
  covered: number
  uncovered: { rule: string; file: string; line: number }[]
}

const isTable = (name: string): boolean => /\.test\.ya?ml$/.test(name)

/** The given directories, and their templates and packs if there are any. */
async function withTemplates(directories: readonly string[]): Promise<string[]> {
  const all = directories.flatMap((directory) => [directory, join(directory, 'templates'), join(directory, 'packs')])
  const there = await Promise.all(
    all.map((one) =>
      readdir(one).then(
        () => true,
        (error) => {
          if (directories.includes(one)) throw error
          return false
        },
      ),
    ),
  )
  return all.filter((_, at) => there[at])
}

/** The places of a table's rules: those that it names, else the file with the same name. */
async function rulesOf(file: string, named: string[] | null): Promise<string[]> {
  if (named) return named.map((name) => (name === shipped ? shipped : join(dirname(file), name)))
  const [yaml, yml] = ['.yaml', '.yml'].map((end) => file.replace(/\.test\.ya?ml$/, end)) as [string, string]
  return access(yaml).then(
    () => [yaml],
    () =>
      access(yml).then(
        () => [yml],
        () => [yaml],
      ),
  )
}

/** Runs every table of the directories. @throws if a directory can't be read */
export async function testRules(directories: readonly string[], now_ms: number): Promise<TestReport> {
  const report: TestReport = { tables: [], errors: [], rules: 0, covered: 0, uncovered: [] }
  const rules = new Map<string, { rule: string; file: string; line: number; fired: boolean }>()
  const load = async (files: string[]) => {
    const { set, errors } = await readPolicy(files)
    report.errors.push(...errors)
    for (const { rule } of set?.rules ?? []) {
      if (shippedRules.some(({ name }) => name === rule.file)) continue
      const key = `${rule.file}:${rule.id}`
      if (!rules.has(key)) rules.set(key, { rule: rule.id, file: rule.file, line: rule.line, fired: false })
    }
    return set
  }
  for (const directory of await withTemplates(directories)) {
    const tables = (await readdir(directory)).filter(isTable).sort()
    const tested = new Set<string>()
    for (const name of tables) {
      const file = join(directory, name)
      const { table, errors } = parseTable(await readFile(file, 'utf8'), file)
      report.errors.push(...errors)
      if (!table) continue
      const files = await rulesOf(file, table.rules)
      for (const one of files) tested.add(one)
      const set = await load(files)
      if (!set) continue
      const cases = await runTable(table, set.rules, now_ms)
      report.tables.push({ file, cases })
      const fired = new Set(cases.flatMap((one) => one.fired))
      for (const { rule } of set.rules) {
        const one = rules.get(`${rule.file}:${rule.id}`)
        if (one && fired.has(rule.id)) one.fired = true
      }
    }
    // No case fires the rules of a file without a table.
    for (const file of await ruleFilesIn(directory)) if (!tested.has(file)) await load([file])
  }
  const all = [...rules.values()]
  report.rules = all.length
  report.covered = all.filter(({ fired }) => fired).length
  report.uncovered = all.filter(({ fired }) => !fired).map(({ rule, file, line }) => ({ rule, file, line }))
  return report
}

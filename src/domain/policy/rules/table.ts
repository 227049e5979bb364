/** Table tests of rules: files of cases, evaluated without a store. */
import { actionFields } from '../../../../sdk/schema/action.ts'
import { Past, type TestCase, TestFile } from '../../../../sdk/schema/guardrail-test.ts'
import type { RuleProblem } from '../../../../sdk/schema/policy.ts'
import type { Action } from './action.ts'
import type { CompiledRule } from './compiled.ts'
import { evaluate, type Verdict } from './evaluate.ts'
import { readChecked } from './explain.ts'
import { type FactGroup, type Facts, groupOf, keyOf } from './fact-names.ts'
import type { History } from './history.ts'

interface Table {
  /** Rule files in its directory; null for the one of the same name. */
  rules: string[] | null
  cases: (TestCase & { line: number })[]
}

/** Reads a file of table tests. Never throws. */
export function parseTable(text: string, file: string): { table: Table | null; errors: RuleProblem[] } {
  const { value, errors, at } = readChecked(text, file, TestFile, (_, path) => keysAround(path))
  if (value === null) return { table: null, errors }
  const { rules, cases } = value
  return {
    table: {
      rules: rules === undefined ? null : [rules].flat(),
      cases: cases.map((one, index) => ({ ...one, line: at(['cases', index], '').line })),
    },
    errors: [],
  }
}

/** The keys that are allowed at a path of a table. */
function keysAround(path: (string | number)[]): string[] {
  const { cases } = TestFile.entries
  const one = cases.pipe[0].item.entries
  if (path.length === 1) return Object.keys(TestFile.entries)
  if (path.length === 3) return Object.keys(one)
  return path[2] === 'past' ? Object.keys(Past.entries) : Object.keys(one.action.pipe[0].entries)
}

export interface CaseResult {
  name: string
  line: number
  /** What is wrong; null if the case passes. */
  problem: string | null
  fired: string[]
}

/** Fields that a case leaves out are null. */
const actionOf = ({ action }: TestCase): Action =>
  ({ ...Object.fromEntries(Object.keys(actionFields).map((name) => [name, null])), ...action }) as Action

const noFacts: Record<FactGroup, Facts> = {
  session: { actions: [], classifications: [], observed: [] },
  precedents: { n: 0, failed: 0 },
  calibration: { n: 0 },
}

/** A history of constants. @param now_ms the time if the case names none */
function pastOf(
  { now, past: { evidence: observed, similar, count, aggregate, ...facts } }: TestCase,
  now_ms: number,
): History {
  const at = now === undefined ? now_ms : Date.parse(now)
  const past: History = {
    now: () => at,
    ofChanged: () => past,
    similar: async () => similar,
    evidence: async ({ evidence }) =>
      observed.includes(evidence) ? { seqs: [1] } : { missing: `no ${evidence} was observed` },
    count: async () => count,
    aggregate: async () => aggregate ?? { decisions: 0, value: null },
    fact: async (name) => ({ ...noFacts[groupOf(name)], ...facts[groupOf(name)] })[keyOf(name)],
  }
  return past
}

function problemOf({ expect, fires }: TestCase, verdict: Verdict): string | null {
  const found = verdict.allowed ? (verdict.warnings.length > 0 ? 'warn' : 'pass') : 'block'
  const fired = verdict.fired.length === 0 ? 'no rule fired' : `fired: ${verdict.fired.join(', ')}`
  if (found !== expect) return `expected ${expect}, found ${found}; ${fired}`
  const wanted = [...(fires ?? verdict.fired)].sort().join(', ')
  return wanted === [...verdict.fired].sort().join(', ') ? null : `expected to fire: ${wanted || 'nothing'}; ${fired}`
}

/** Runs every case of a table. */
export async function runTable(table: Table, rules: readonly CompiledRule[], now_ms: number): Promise<CaseResult[]> {
  const results: CaseResult[] = []
  for (const one of table.cases) {
    const verdict = await evaluate(rules, actionOf(one), pastOf(one, now_ms), () => {})
    results.push({ name: one.name, line: one.line, problem: problemOf(one, verdict), fired: verdict.fired })
  }
  return results
}

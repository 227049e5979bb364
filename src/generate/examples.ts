/** An example of each method: the first successful call in `test/wire/cases`, with fixed values for what differs between runs. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'

const folder = join(import.meta.dir, '../../test/wire/cases')
const longestList = 2
const longestText = 160
/** Maximum number of lines of an answer; the rest becomes an ellipsis. */
const longestAnswer = 40

interface Step {
  call?: string
  params?: unknown
  result?: unknown
  error?: unknown
  save?: Record<string, string>
}
export interface Example {
  params: unknown
  result: unknown
}

const words: Record<string, unknown> = {
  '<id>': '2026-07-01-decision-0123456789ab',
  '<record>': '2026-07-01-evaluation-26a1b680123456789ab',
  '<time>': '2026-07-01T12:00:00.000Z',
  '<day>': '2026-07-01',
  '<hash>': '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  '<number>': 12,
  '<boolean>': true,
}

/** Roles shown in place of the agents in the cases. */
const roles = new Map([
  ['alice', 'coder'],
  ['bob', 'reviewer'],
  ['carol', 'release-manager'],
])
const roleOf = (text: string): string => text.replace(/\w+/g, (word) => roles.get(word) ?? word)

/** Turns an expected value into an example: words in angle brackets become fixed values. */
function shown(value: unknown): unknown {
  if (typeof value === 'string') {
    const near = /^<(-?[\d.]+) ± [\d.]+>$/.exec(value)
    if (near) return Number(near[1])
    if (/^<.*>$/s.test(value)) return words[value] ?? '…'
    const text = roleOf(value)
    return text.length > longestText ? `${text.slice(0, longestText)}…` : text
  }
  if (Array.isArray(value)) {
    const kept = value.filter((one) => one !== '...')
    const list = kept.slice(0, longestList).map(shown)
    return kept.length < value.length || kept.length > longestList ? [...list, '…'] : list
  }
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, one]) => (key === '...' ? [] : [[roleOf(key), shown(one)] as const])),
  )
}

const at = (value: unknown, path: string): unknown =>
  path
    .split(/[.[\]]+/)
    .filter(Boolean)
    .reduce<unknown>((now, key) => (now as Record<string, unknown> | undefined)?.[key], value)

/** Fills in values saved by earlier steps, such as `$name` and `$name[0:8]`. */
function filled(value: unknown, saved: Map<string, unknown>): unknown {
  if (Array.isArray(value)) return value.map((one) => filled(one, saved))
  if (value !== null && typeof value === 'object')
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, filled(one, saved)]))
  if (typeof value !== 'string') return value
  const whole = /^\$(\w+)$/.exec(value)
  if (whole) return saved.get(whole[1]!) ?? value
  return value.replace(/\$(\w+)(?:\[(\d+):(\d+)\])?/g, (text, name, from, to) => {
    const found = saved.get(name)
    return found === undefined
      ? text
      : String(found).slice(Number(from ?? 0), to === undefined ? undefined : Number(to))
  })
}

/** @param method without `cstp.` @throws if no case has a successful call of it */
export async function exampleOf(method: string): Promise<Example> {
  const file = parse(await readFile(join(folder, `${method}.yaml`), 'utf8')) as { cases: { steps: Step[] }[] }
  for (const { steps } of file.cases) {
    const saved = new Map<string, unknown>()
    for (const { call = method, params = {}, result, save = {} } of steps) {
      if (result === undefined) continue
      if (call === method) return { params: shown(filled(params, saved)), result: shown(filled(result, saved)) }
      for (const [name, path] of Object.entries(save)) saved.set(name, shown(at(result, path)))
    }
  }
  throw new Error(`no case of ${method} succeeds`)
}

/** The example as Markdown: a command that makes the call, and its answer. */
export function exampleText(method: string, { params, result }: Example): string {
  const json = JSON.stringify(params)
  const given = json === '{}' ? '' : ` '${json.replaceAll("'", "'\\''")}'`
  const lines = JSON.stringify(result, null, 2).split('\n')
  const answer = lines.length > longestAnswer ? [...lines.slice(0, longestAnswer), '…'] : lines
  return ['```sh', `cstp call ${method}${given}`, '```', '', '```text', ...answer, '```'].join('\n')
}

/** A value as a TypeScript literal. */
function literal(value: unknown): string {
  if (typeof value === 'string')
    return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`
  if (value === null || typeof value !== 'object') return String(value)
  const fields = Object.entries(value).map(
    ([key, one]) => `${/^[A-Za-z_$][\w$]*$/.test(key) ? key : `'${key}'`}: ${literal(one)}`,
  )
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`
}

/** The example as a call of the client. */
export function exampleCode(method: string, { params }: Example): string {
  const given = literal(params)
  return `await cstp.${method}(${given === '{}' ? '' : given})`
}

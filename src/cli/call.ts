/** cstp call: calls any method, with its parameters as JSON or by name. */
import { readFile } from 'node:fs/promises'
import { nearest } from '../../sdk/nearest.ts'
import type { Method } from '../calls/method.ts'
import { jsonSchema } from '../core/json-schema.ts'
import { causeOf } from '../core/log.ts'
import { fieldTexts } from '../core/schema-text.ts'
import { methods } from '../methods/table.ts'
import { defineCommand, type More } from './command.ts'
import { connectionFlags, withConnection } from './connection.ts'
import { Failure, misuse } from './failure.ts'
import { parsedValue } from './parameters.ts'
import { prettyJson } from './terminal.ts'

const short = (name: string): string => name.replace(/^cstp\./, '')

/** @throws Failure if the method does not exist */
function methodOf(given: string): [name: string, method: Method] {
  const name = `cstp.${short(given)}`
  const method = methods.get(name)
  if (method) return [name, method]
  const near = nearest(short(given), [...methods.keys()].map(short))
  throw misuse(
    `unknown method ${JSON.stringify(given)}${near ? `; did you mean ${near}?` : ''} (cstp help call lists them)`,
  )
}

/** Parses parameters given by name: `id=1f0c52aa revisions=true filters.project=owner/repo`. */
function named(method: Method | null, words: readonly string[]): Record<string, unknown> {
  const found: Record<string, unknown> = Object.create(null)
  for (const word of words) {
    const [, path, text] = /^([\w.]+)=([\s\S]*)$/.exec(word) ?? []
    if (path === undefined || text === undefined)
      throw misuse(`expected name=value, or the parameters as one JSON object; received ${JSON.stringify(word)}`)
    const steps = path.split('.')
    let [at, schema] = [found, method ? jsonSchema(method.params, 'input') : {}]
    for (const [depth, step] of steps.entries()) {
      schema = schema.properties?.[step] ?? {}
      if (depth === steps.length - 1) at[step] = parsedValue(path, schema, text)
      else {
        at[step] ??= Object.create(null)
        at = at[step] as Record<string, unknown>
      }
    }
  }
  return found
}

/** Reads the parameters from the command line. @throws Failure if they can't be read or are not JSON */
async function readParams(method: Method | null, given: readonly string[]): Promise<unknown> {
  const [first] = given
  if (first === undefined) return {}
  if (given.length > 1 || /^[\w.]+=/.test(first)) return named(method, given)
  let text = first
  if (first === '-') text = await Bun.stdin.text()
  if (first.startsWith('@')) {
    const path = first.slice(1)
    text = await readFile(path, 'utf8').catch((error: unknown) => {
      throw new Failure(`can't read ${path}: ${causeOf(error)}`)
    })
  }
  try {
    return JSON.parse(text.replace(/^\ufeff/, ''))
  } catch (error) {
    throw misuse(`the parameters are not JSON: ${(error as Error).message}`)
  }
}

/** Help for a method's parameters. */
function described([name, { summary, params, scope, effect }]: [string, Method]): More {
  const rows = fieldTexts(jsonSchema(params, 'input')).map(({ path, type, fallback, about }): [string, string] => {
    const more = fallback === '' || fallback === 'required' ? fallback : `default ${fallback}`
    return [path, [type, more].filter(Boolean).join(', ') + (about ? `. ${about}` : '')]
  })
  return {
    title: `cstp call ${short(name)}`,
    about: `${summary} Scope ${scope}; it ${effect === 'read' ? 'reads' : 'writes'}. ${rows.length > 0 ? 'Parameters:' : 'It takes no parameters.'}`,
    rows,
    alone: true,
  }
}

export const call = defineCommand({
  name: 'call',
  usage: '<method> [json | @file | - | name=value …]',
  summary: 'Call any method with its parameters as JSON, and print the result.',
  about: [
    'The method name may be given with or without its prefix. The parameters are JSON on the command line, in a file (@file), or from stdin (-), or name=value for each; by default none. cstp call <method> --help lists those of a method.',
    'The result is printed as JSON. An error is printed on stderr, and the exit status is 1.',
  ],
  flags: connectionFlags,
  examples: [
    ['cstp call getStats', 'counts of everything'],
    ['cstp call getDecision id=1f0c52aa', 'one decision, by a part of its id'],
    [
      `cstp call recordDecision '{"decision": "Use SQLite", "category": "architecture", "confidence": 0.8}'`,
      'record a decision',
    ],
    ['cstp call updateDecision @changes.json --local', 'parameters from a file, without a server'],
  ],
  more: async ([given]) =>
    given === undefined
      ? { title: 'methods', rows: [...methods].map(([name, { summary }]) => [short(name), summary]) }
      : described(methodOf(given)),
  async run(run) {
    const [given, ...rest] = run.words
    const name = `cstp.${short(given!)}`
    // A server may have methods that this program doesn't know; it reports names that are unknown to it too.
    const params = await readParams(methods.get(name) ?? null, rest)
    const result = await withConnection(run, ({ send }) => send(name, params))
    await run.terminal.out(prettyJson(result))
  },
})

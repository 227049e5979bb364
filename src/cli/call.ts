/** cstp call: any method, with its parameters as JSON. */
import { readFile } from 'node:fs/promises'
import { causeOf } from '../core/log.ts'
import { defineCommand } from './command.ts'
import { connectionFlags, withConnection } from './connection.ts'
import { Failure, misuse } from './failure.ts'
import { prettyJson } from './terminal.ts'

/** The parameters that the command line gives. @throws Failure if they can't be read or are not JSON */
async function readParams(given: string | undefined): Promise<unknown> {
  if (given === undefined) return {}
  let text = given
  if (given === '-') text = await Bun.stdin.text()
  if (given.startsWith('@')) {
    const path = given.slice(1)
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

export const call = defineCommand({
  name: 'call',
  usage: '<method> [json | @file | -] [flags]',
  summary: 'Call any method with its parameters as JSON, and print the result.',
  about: [
    'The method is given with or without the prefix cstp. The parameters are JSON on the command line, in a file (@file), or from stdin (-); by default {}.',
    'The result is printed as JSON. An error is printed on stderr, and the exit status is 1.',
  ],
  flags: connectionFlags,
  words: [1, 2],
  examples: [
    ['cstp call getStats', 'counts of everything'],
    [`cstp call getDecision '{"id": "1f0c52aa"}'`, 'one decision, by a part of its id'],
    [
      `cstp call recordDecision '{"decision": "Use SQLite", "category": "architecture", "confidence": 0.8}'`,
      'record a decision',
    ],
    ['cstp call updateDecision @changes.json --local', 'parameters from a file, without a server'],
  ],
  async more() {
    const { methods } = await import('../methods/table.ts')
    const rows = [...methods].map(([name, { summary }]): [string, string] => [name.replace(/^cstp\./, ''), summary])
    return { title: 'methods', rows }
  },
  async run(run) {
    const [name, given] = run.words
    const params = await readParams(given)
    const result = await withConnection(run, ({ send }) =>
      send(name!.startsWith('cstp.') ? name! : `cstp.${name}`, params),
    )
    await run.terminal.out(prettyJson(result))
    return 0
  },
})

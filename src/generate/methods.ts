/** The reference pages of the methods and of their scopes. */
import type { Effect } from '../../sdk/client/options.ts'
import { codes } from '../../sdk/errors.ts'
import { anchorOf } from '../app/docs/page.ts'
import { type Scope, scopes } from '../core/caller.ts'
import { methods } from '../methods/table.ts'
import { exampleOf, exampleText } from './examples.ts'
import { paths } from './http.ts'
import { inputSchema, page, rowsOf, table } from './markdown.ts'
import { subjectNames, subjectOf } from './subjects.ts'

const effects: Record<Effect, string> = {
  read: 'reads; can be repeated',
  keyed: 'writes; can be repeated with the same `idempotency_key`',
  write: 'writes',
}

export async function methodsPage(): Promise<string> {
  const sections = await Promise.all(
    [...methods].map(async ([name, { summary, params, result, scope, effect, failure }]) => {
      const takes = rowsOf(inputSchema(params), true)
      const own = name.replace('cstp.', '')
      return [
        `## ${name}`,
        summary,
        `Scope \`${scope}\`; ${effects[effect]}; returns ${codes[failure]} (\`${failure}\`) if the engine fails.`,
        `### Parameters of ${name}`,
        takes.length === 0 ? 'None.' : table(['Parameter', 'Type', 'Default', 'Meaning'], takes),
        `### Result of ${name}`,
        table(['Field', 'Type', 'Meaning'], rowsOf(inputSchema(result), false)),
        `### Example of ${name}`,
        exampleText(own, await exampleOf(own)),
      ].join('\n\n')
    }),
  )
  const about =
    'Call methods with `POST /cstp` (JSON-RPC 2.0), with `cstp call`, or with the functions of the client. Parameters are accepted in snake_case and camelCase; unknown parameters are rejected. In the examples, lists are truncated after two entries and answers after forty lines.'
  const index = subjectNames.map((subject) => {
    const names = [...methods.keys()].filter((name) => subjectOf(name.replace('cstp.', '')) === subject)
    return `**${subject}**: ${names.map((name) => `[${name.replace('cstp.', '')}](#${anchorOf(name)})`).join(' · ')}`
  })
  return page('Methods', about, ...index, ...sections)
}

const meanings: Record<Scope, string> = {
  read: 'Reads all records. Every token without a list of scopes has it.',
  write: 'Records decisions, thoughts and reviews. Every token without a list of scopes has it.',
  evidence: 'Imports observed events and exports evidence. Do not give it to a model.',
  curate: 'Changes records of other agents.',
  audit: 'Reads everything that readers and administrators may read, and writes nothing. For auditors.',
  approve: 'Answers approval requests. A token with this scope cannot write unless it also has the scope admin.',
  admin: 'Operates the service: rules, breakers, audit trail, index. For people.',
}

export function scopesPage(): string {
  const sections = scopes.map((scope) => {
    const named = [...methods].filter(([, method]) => method.scope === scope)
    const called = named.map(([name, { summary }]) => `- [\`${name}\`](methods.md#${anchorOf(name)}): ${summary}`)
    const served = paths.flatMap((one) =>
      one.login === scope ? [`- [\`${one.methods.join('`, `')} ${one.path}\`](http.md)`] : [],
    )
    const list = [...called, ...served]
    return [
      `## ${scope}`,
      meanings[scope],
      list.length === 0 ? 'No method requires only this scope.' : list.join('\n'),
    ].join('\n\n')
  })
  const about =
    'The scopes of tokens, and the methods and paths that require them. To grant scopes, see [Agents, tokens and scopes](../guide/access.md).'
  return page('Scopes', about, ...sections)
}

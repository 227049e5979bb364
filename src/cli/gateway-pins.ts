/** cstp gateway pins: the tools that the gateway has pinned, and those that wait for a person. */
import { defineCommand, toggle, value } from './command.ts'
import { asAdmin, connectionFlags, printCall, type Result } from './connection.ts'
import { misuse } from './failure.ts'
import { plain } from './terminal.ts'
import { changedWords } from './word-changes.ts'

type Pin = Result<'listPins'>['pins'][number]

const flags = {
  ...connectionFlags,
  reason: value('text', 'With accept: why; kept in the audit trail.'),
  all: toggle('Show accepted tools too.'),
} as const

const textOf = (value: unknown): string =>
  value === null ? '(absent)' : typeof value === 'string' ? value : JSON.stringify(value)

function described({ server, tool, state, description, findings, changes, seen_at }: Pin): string {
  const lines = [`${server} ${tool}: ${state} since ${seen_at}`]
  for (const finding of findings) lines.push(`  contains ${finding}`)
  if (state === 'new' && description !== null) lines.push(`  ${description}`)
  for (const { field, before, after } of changes)
    lines.push(`  ${field}: ${changedWords(textOf(before), textOf(after))}`)
  return `${lines.map((line) => plain(line)).join('\n')}\n`
}

export const gatewayPins = defineCommand({
  name: 'gateway pins',
  usage: '[accept] [server] [tool]',
  summary: 'Show tools that wait for a person, or accept them.',
  about: [
    'A tool that is new, that has changed since it was accepted, or whose description hides text or addresses the model, is withheld from clients until a person accepts it. The first list of a server is accepted as it is.',
    'Removed words are shown in [-…-], added ones in {+…+}. Read them before you accept: a description is text that the model follows.',
  ],
  flags,
  examples: [
    ['cstp gateway pins', 'what waits, with what changed'],
    ['cstp gateway pins accept files write_file', 'accept one tool as it is now'],
  ],
  async run(run) {
    const [verb, server = null, tool = null] = run.words
    if (verb !== undefined && verb !== 'accept')
      throw misuse(`${JSON.stringify(verb)} is not accept; see cstp help gateway`)
    if (verb === undefined) {
      await printCall(run, 'listPins', { waiting: !run.flags.all, limit: 500 }, ({ pins }) =>
        pins.length === 0 ? 'No tool waits.\n' : pins.map(described).join('\n'),
      )
      return 0
    }
    if (server === null) throw misuse('name the server: cstp gateway pins accept <server> [tool]')
    const { reason = null } = run.flags
    await printCall(asAdmin(run), 'acceptPins', { server, tool, reason }, ({ accepted }) =>
      accepted.length === 0 ? 'No tool waits.\n' : `Accepted: ${accepted.map((one) => plain(one)).join(', ')}\n`,
    )
    return 0
  },
})

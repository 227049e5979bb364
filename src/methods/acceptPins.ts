/** cstp.acceptPins: a person accepts tools that are new or have changed. */
import * as v from 'valibot'
import { invalidParam } from '../../sdk/errors.ts'
import { nonEmptyText } from '../../sdk/schema/decision.ts'
import { defineMethod } from '../calls/method.ts'
import { audit } from '../core/audit.ts'
import { acceptPins as accept, isAsSeen } from '../domain/gateway/pins.ts'

const d = v.description

export const acceptPins = defineMethod({
  summary: 'Accepts tools of a server behind the gateway as they are now, so that they may be used.',
  params: v.object({
    server: v.pipe(nonEmptyText(64), d('Name of the server.')),
    tool: v.pipe(v.optional(v.nullable(nonEmptyText(256)), null), d('The tool; all that wait if it is absent.')),
    seen_at: v.pipe(
      v.optional(v.nullable(nonEmptyText(64)), null),
      d('`seen_at` of the tool in listPins: refused if the server has changed it since. With it, `tool` is required.'),
    ),
    reason: v.pipe(v.optional(v.nullable(nonEmptyText(2_000)), null), d('Why; kept in the audit trail.')),
  }),
  result: v.object({
    accepted: v.pipe(v.array(v.string()), d('Names of the tools that were accepted.')),
  }),
  scope: 'admin',
  effect: 'write',
  keeps_texts: true,
  async handle(call, { server, tool, seen_at, reason }) {
    if (seen_at !== null && tool === null) throw invalidParam('tool', 'the name of the tool that seen_at is of', '')
    return call.store.transaction(async (tx) => {
      if (seen_at !== null && tool !== null && !(await isAsSeen(tx.keyed, server, tool, seen_at)))
        throw invalidParam('seen_at', 'that of the tool as it waits now; it has changed, see listPins', seen_at)
      const accepted = await accept(tx, server, tool, call.caller.agent, call.now())
      if (accepted.length === 0 && tool !== null)
        throw invalidParam('tool', 'the name of a tool of this server that waits; see listPins', tool)
      await audit(call, tx, [], { server, accepted, ...(reason !== null && { reason }) })
      return { accepted: accepted.map(({ tool: name }) => name) }
    })
  },
})

/** cstp.closeDrift: a person closes a finding of drift. */
import * as v from 'valibot'
import { CstpError, invalidParam } from '../../sdk/errors.ts'
import { nonEmptyText, text } from '../../sdk/schema/decision.ts'
import { defineMethod } from '../calls/method.ts'
import { audit } from '../core/audit.ts'
import { driftOf } from '../domain/learn/calibration/drift-periods.ts'
import { closeFinding } from '../domain/record/history/drift-closed.ts'

const d = v.description

export const closeDrift = defineMethod({
  summary:
    'Closes a finding of drift, for example after the agent got another model: it is then compared only with what it did since.',
  params: v.object({
    agent: v.optional(v.pipe(nonEmptyText(256), d('Agent whose finding is closed.'))),
    category: v.optional(v.pipe(nonEmptyText(256), d('Category whose finding is closed; exactly one of the two.'))),
    reason: v.pipe(text(2_000), v.minLength(1, 'a reason'), d('Reason; stored in the audit trail.')),
  }),
  result: v.object({
    success: v.pipe(v.boolean(), d('False if there was no finding; nothing changed then.')),
    since: v.pipe(v.nullable(v.string()), d('First day of the change that was closed.')),
    message: v.string(),
  }),
  scope: 'curate',
  effect: 'write',
  keeps_texts: true,
  cost: 8,
  async handle(call, { agent, category, reason }) {
    if ((agent === undefined) === (category === undefined))
      throw invalidParam('agent', 'either agent or category', agent === undefined ? 'neither' : 'both')
    if (agent === call.caller.agent)
      throw new CstpError('forbidden', 'No agent closes a finding about itself: another curator has to', {
        scope: 'curate',
      })
    const [by, name] = agent === undefined ? (['category', category!] as const) : (['agent', agent] as const)
    const { change } = await driftOf(call.store, { [by]: name }, call.now())
    const since = change?.since ?? null
    const day = new Date(call.now()).toISOString().slice(0, 10)
    await call.store.transaction(async (tx) => {
      if (change !== null) await closeFinding(tx, by, name, day)
      await audit(call, tx, [], { [by]: name, since, reason })
    })
    const message = since === null ? `There is no finding of drift for ${name}` : `The finding for ${name} is closed`
    return { success: since !== null, since, message }
  },
})

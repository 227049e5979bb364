/** A program whose thread has acts of every kind, each in the way in which it comes about. */
import { openHooks } from '../hooks.ts'
import type { TestProgram } from '../program.ts'
import { decidedStory } from './dossiers.ts'

/** @returns the id of the decision that was erased */
export async function threadedStory(program: TestProgram): Promise<string> {
  const { call, record, clock, services } = program
  await decidedStory(program)
  const hooks = openHooks(program)
  await hooks.event('SessionStart', { source: 'startup' })
  for (const command of ['ls', 'cat notes', 'make test']) await hooks.bash(command)
  await hooks.event('SessionEnd', { reason: 'other' })
  const erased = await record({ decision: 'Keep what is to be forgotten' })
  await call('linkDecisions', { source_id: await record(), target_id: erased, edge_type: 'depends_on', context: 'why' })
  clock.now += 60_000
  await call('eraseDecision', { id: erased, basis: 'article 17', reason: 'asked for' }, 'root')
  await call('setPreserve', { decision_id: await record({ decision: 'Keep this one' }), preserve: true }, 'root')
  await services.tracker.flush()
  await services.thread.sequence()
  await services.thread.checkpoints.latest()
  // A few more, which no checkpoint covers.
  await record({ decision: 'Go on' })
  await call('checkGuardrails', { action: { description: 'Look' } })
  await services.thread.sequence()
  return erased
}

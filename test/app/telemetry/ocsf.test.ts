/** The audit trail as OCSF events: valid by the published schema, with what a verdict did, and without texts unless asked. */
import { expect, test } from 'bun:test'
import type { StoredAuditEntry } from '../../../sdk/storage/store.ts'
import { ocsfEvent, withoutTexts } from '../../../src/app/telemetry/ocsf.ts'
import { ocsfProblems } from '../../support/ocsf.ts'
import { memoryProgram } from '../../support/program.ts'

/** A trail with verdicts of all kinds, records, reviews, approvals and links, made by real calls. */
async function trail(): Promise<StoredAuditEntry[]> {
  const program = await memoryProgram()
  await program.rules(`- id: ask-first
  condition_category: release
  action: step_up
  step_up: {approvers: [carol]}
- id: never
  condition_category: wipe
  action: block`)
  const action = { description: 'Release the secret plan', category: 'release', stakes: 'critical', confidence: 0.9 }
  await program.call('checkGuardrails', { action: { ...action, category: 'wipe' } })
  await program.call('checkGuardrails', { action: { ...action, category: 'wipe' }, dry_run: true })
  const { approval } = await program.call('checkGuardrails', { action })
  await program.call(
    'decideApproval',
    { id: approval!.id, decision: 'approve', reason: 'the secret plan is fine' },
    'carol',
  )
  await program.call('checkGuardrails', { action })
  const { decision_id: id } = await program.call('recordDecision', {
    decision: 'Keep the secret plan',
    category: 'process',
    confidence: 0.7,
  })
  await program.call('reviewDecision', { id, outcome: 'success', actual_result: 'the secret plan held' })
  return (await program.store.audit.list({ limit: 100 })).reverse()
}

test('every entry of a trail is a valid event, with texts and without', async () => {
  const entries = await trail()
  expect(entries.length).toBeGreaterThan(7)
  for (const entry of entries) {
    const event = ocsfEvent(entry)
    expect([entry.method, ocsfProblems(event)]).toEqual([entry.method, []])
    const bare = ocsfEvent(withoutTexts(entry))
    expect([entry.method, ocsfProblems(bare)]).toEqual([entry.method, []])
    expect(JSON.stringify(bare)).not.toContain('secret plan')
  }
  const events = entries.map((entry) => [entry.method, ocsfEvent(entry)] as const)
  const controls = events.filter(([method]) => method === 'cstp.checkGuardrails').map(([, event]) => event.action)
  expect(controls).toEqual(['Denied', 'Observed', 'Denied', 'Allowed'])
  const granted = events.find(([method]) => method === 'approval.decided')![1]
  expect(granted).toMatchObject({ class_uid: 3003, privileges: ['ask-first'], actor: { user: { uid: 'carol' } } })
})

test('the schema of the fixture refuses what is wrong', async () => {
  const [entry] = await trail()
  const event = ocsfEvent(entry!)
  expect(ocsfProblems({ ...event, severity_id: 7 })).toEqual(['severity_id: 7 is no such value'])
  expect(ocsfProblems({ ...event, verdict: 'x' })).toEqual(['verdict: not in the schema'])
  const { api: _, ...without } = event
  expect(ocsfProblems(without)).toEqual(['api: missing'])
})

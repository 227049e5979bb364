/** A decision with all that a dossier can hold: a rule that asked a person, evidence, an update, a review by another agent, an edge. */
import type { Dossier } from '../../../sdk/schema/dossier.ts'
import { openMemoryProgram, type TestProgram } from '../program.ts'

const rules = `
- id: pay
  action: step_up
  message: Payments need a person
  condition_category: payment
`
const action = {
  description: 'Pay the invoice',
  category: 'payment',
  stakes: 'high',
  confidence: 0.9,
  project: 'acme/shop',
  pr: 7,
}
const pr = { pr_number: 7, repo: 'acme/shop' }
const event = (event_type: string, payload: object, hour: number) => ({
  event_type,
  ts: `2026-07-01T${hour}:00:00Z`,
  payload,
})

/** @returns the id of the decision, and that of an edge's other end */
export async function decidedStory(program: TestProgram): Promise<{ id: string; other: string }> {
  const { call, clock, record } = program
  const minute = () => {
    clock.now += 60_000
  }
  await program.rules(rules)
  const { approval } = await call('checkGuardrails', { action })
  minute()
  await call('decideApproval', { id: approval!.id, decision: 'approve', reason: 'Checked the invoice' }, 'carol')
  minute()
  const { decision_id: id } = await call('preAction', {
    action,
    options: { auto_record: true },
    reasons: [{ type: 'analysis', text: 'It is due' }],
  })
  const events = [
    event('pr_opened', { ...pr, title: 'Pay', is_agent_authored: true }, 12),
    event('pr_merged', { ...pr, human_approval_count: 1 }, 13),
    event('ci_completed', { conclusion: 'success' }, 14),
    event('pr_opened', { pr_number: 7, repo: 'acme/other' }, 14),
  ]
  await call('ingestEvidence', { source: 'github', events }, 'root')
  minute()
  await call('linkEvidence', { decision_id: id, event_seqs: [3] }, 'root')
  const other = await record({ decision: 'Ask for invoices as PDF' })
  await call('linkDecisions', { source_id: id!, target_id: other, edge_type: 'depends_on' })
  minute()
  await call('updateDecision', { id, updates: { tags: ['invoice'] } })
  minute()
  await call('reviewDecision', { id, outcome: 'success', actual_result: 'The invoice was right' }, 'bob')
  return { id: id!, other }
}

/** The dossier of that decision. */
export async function decidedDossier(): Promise<Dossier> {
  const program = await openMemoryProgram()
  const { id } = await decidedStory(program)
  const dossier = await program.call('getDossier', { id }, 'root')
  await program.close()
  return dossier
}

/** What each method leaves behind: one that is declared as a read changes nothing that lasts, every other one does. */

import { expect, test } from 'bun:test'
import { parseRecord } from '../../sdk/storage/decisions.ts'
import { countKeyed, outboxCollection } from '../../sdk/storage/keyed.ts'
import { methods } from '../../src/methods/table.ts'
import { ask } from '../support/approvals.ts'
import { type MethodName, openMemoryProgram, type TestProgram } from '../support/program.ts'

const breaker = 'category:deploy'
const rules = `circuit_breakers: [{ scope: "${breaker}", failure_threshold: 1, window_ms: 86400000, cooldown_ms: 3600000 }]`

/** The last lines of the trail, and everything else that outlives a call, but not the inputs of a deliberation. */
async function lasting({ store, services: { evidence } }: TestProgram): Promise<unknown> {
  const { texts } = await store.decisions.list({
    filter: {},
    sort: 'created_at',
    order: 'asc',
    offset: 0,
    limit: 100,
  })
  return {
    audit: await store.audit.list({ limit: 100 }),
    records: texts.map(parseRecord),
    feed: await store.feed.head(),
    breakers: await store.keyed.list('breaker', { limit: 100 }),
    outbox: await countKeyed(store.keyed, outboxCollection),
    evidence: await evidence.head(),
  }
}

/** A program with two decisions, an edge, evidence, and a call of each method on them that succeeds. */
async function prepared(): Promise<{ program: TestProgram; calls: Record<MethodName, object> }> {
  const program = await openMemoryProgram()
  await program.rules(rules)
  const id = await program.record()
  const other = await program.record({ decision: 'Use WAL mode' })
  await program.call('linkDecisions', { source_id: other, target_id: id, edge_type: 'depends_on' })
  const event = { event_type: 'pr_merged', ts: '2026-07-01T13:00:00Z', payload: { pr_number: 7 } }
  await program.call('ingestEvidence', { source: 'github', events: [event] }, 'root')
  const inferred = {
    ...event,
    source: 'webhook:github',
    evidence_class: 'inferred' as const,
    payload: '{"pr_number":7}',
  }
  const { first_seq: seq } = await program.services.chain.append([inferred])
  const erased = await program.record({ decision: 'Forget this one' })
  const action = { description: 'Drop the table', category: 'deploy', stakes: 'high', confidence: 0.9 }
  await program.record({ project: { name: 'acme/shop', pr: 7 } })
  program.clock.now += 40 * 86_400_000
  const { approval } = await ask(program)
  const calls: Record<MethodName, object> = {
    acceptPins: { server: 'files' },
    attributeOutcomes: { project: 'acme/shop', since: '90d' },
    checkDrift: {},
    checkGuardrails: { action },
    closeDrift: { agent: 'releaser', reason: 'new model' },
    compact: {},
    debugTracker: {},
    decideApproval: { id: approval!.id, decision: 'approve' },
    eraseDecision: { id: erased, basis: 'GDPR Art. 17', reason: 'asked for' },
    exportEvidenceBundle: {},
    getApproval: { id: approval!.id },
    getBriefing: {},
    getCalibration: {},
    getCheckpoint: {},
    getCircuitState: { scope: breaker },
    getCompacted: {},
    getConsistencyProof: { old: 1 },
    getDecision: { id },
    getDossier: { id },
    getGraph: { id },
    getInclusionProof: { seq: 1 },
    getNeighbors: { id },
    getPolicy: {},
    getReasonStats: {},
    getReceipt: { decision_id: id },
    getSessionContext: { task_description: 'choose a database' },
    getStats: {},
    getVerification: {},
    getWisdom: {},
    ingestEvidence: { source: 'github', events: [event] },
    linkDecisions: { source_id: id, target_id: other, edge_type: 'relates_to' },
    linkEvidence: { decision_id: id, event_seqs: [1] },
    listApprovals: {},
    listAudit: {},
    listBreakers: {},
    listDecisions: {},
    listDeliveries: {},
    listEvidence: {},
    listGuardrails: {},
    listPins: {},
    listSessions: {},
    mapControls: {},
    overruleEvidence: { seq, reason: 'It was no revert' },
    preAction: { action },
    queryDecisions: { query: 'which database?' },
    ready: {},
    recordDecision: { decision: 'Keep it', confidence: 0.5, category: 'process' },
    recordThought: { text: 'One more', decision_id: id },
    reindex: {},
    reloadGuardrails: {},
    resetCircuit: { scope: breaker },
    reviewDecision: { id, outcome: 'success' },
    setHold: { id, on: true, reason: 'Claim 12' },
    setPreserve: { id, preserve: true },
    shadowGuardrails: { rules: '- { id: x, action: block, condition_stakes: high, message: m }' },
    tryGuardrails: { rules: '- { id: x, action: block, condition_stakes: high, message: m }' },
    unlinkDecisions: { source_id: other, target_id: id, edge_type: 'depends_on' },
    updateDecision: { id, updates: { confidence: 0.7 } },
    verifyEvidenceChain: {},
  }
  return { program, calls }
}

test('a read leaves nothing behind, and every other method does', async () => {
  const { program, calls } = await prepared()
  try {
    expect(Object.keys(calls).map((name) => `cstp.${name}`)).toEqual([...methods.keys()])
    for (const [name, { effect }] of methods) {
      const before = await lasting(program)
      const method = name.replace('cstp.', '') as MethodName
      await program.call(method, calls[method], 'root')
      const changed = !Bun.deepEquals(before, await lasting(program))
      expect([name, changed]).toEqual([name, effect !== 'read'])
    }
  } finally {
    await program.close()
  }
})

test('an evaluation that is only tried leaves its row in the trail, marked, and nothing else', async () => {
  const { program, calls } = await prepared()
  try {
    const before = await lasting(program)
    await program.call('checkGuardrails', { ...calls.checkGuardrails, dry_run: true }, 'root')
    const after = (await lasting(program)) as { audit: unknown[] }
    expect(after.audit[0]).toMatchObject({ method: 'cstp.checkGuardrails', detail: { dry_run: true } })
    expect({ ...after, audit: after.audit.slice(1) }).toEqual(before as typeof after)
  } finally {
    await program.close()
  }
})

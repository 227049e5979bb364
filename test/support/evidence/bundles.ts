/** Bundles for tests, made by the program's writer from chains in memory. */
import type { DecisionReader } from '../../../sdk/storage/store.ts'
import { rootOf } from '../../../src/domain/ledger/engine/tree.ts'
import { bundleText, prepareBundle } from '../../../src/domain/ledger/evidence/bundle.ts'
import type { NewEvent } from '../../../src/domain/ledger/evidence/chain.ts'
import type { LinkDetail } from '../../../src/domain/ledger/evidence/content.ts'
import type { ControlRules } from '../../../src/domain/ledger/evidence/controls.ts'
import { loadControls } from '../../../src/policy/files.ts'
import { chainOf } from './events.ts'
import { logSigner } from './note-signers.ts'

export interface Made {
  bundle_id?: string
  generated_at?: string
  log?: ReturnType<typeof logSigner>
  /** What is done to the note before it goes into the bundle. */
  note?(note: string): string
  controls?: ControlRules
  /** Records by id. */
  decisions?: Record<string, unknown>
  /** Rows of the audit trail on links. */
  links?: LinkDetail[]
}

const shipped = loadControls()

export async function bundleOf(events: readonly NewEvent[], made: Made = {}): Promise<string> {
  const { log = logSigner(), note = (text) => text, decisions = {}, controls = shipped } = made
  const evidence = await chainOf(events)
  const { seq, hash, frontier } = await evidence.head()
  const root_hash = rootOf(frontier)
  const known = {
    get: async (ids: readonly string[]) =>
      ids.flatMap((id) => (decisions[id] ? { id, json: JSON.stringify(decisions[id]) } : [])),
  } as unknown as DecisionReader
  const audit = { list: async () => (made.links ?? []).map((detail, seq) => ({ seq, detail })) } as never
  const sources = { evidence, decisions: known, audit, sign: log.sign, controls, yieldToEventLoop: async () => {} }
  const head = { size: seq, head_hash: hash, root_hash, note: note(log.note(seq, root_hash)) }
  const bundle = await prepareBundle(sources, head, {
    bundle_id: made.bundle_id ?? '00000000-0000-4000-8000-000000000000',
    generated_at: made.generated_at ?? '2026-07-02T00:00:00.000Z',
    service_version: '0.0.0',
    policy_hash: 'a'.repeat(64),
    verifier_key: log.verifier_key,
  })
  let text = ''
  for await (const piece of bundleText(bundle, sources)) text += piece
  return text
}

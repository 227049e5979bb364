/** Calls that ran otherwise than they were judged: what a client reports after a call is compared with what was said before it. */
import type { Transaction } from '../../../sdk/storage/store.ts'
import type { Astray } from '../../core/observed.ts'
import { timestamp } from '../../core/time.ts'
import type { HookAction } from '../record/hook-records.ts'
import type { HookEvent, HookPlace } from './event.ts'

/** Whether calls are known, and not one was checked before it ran: the hook that asks is missing or turned off. */
export const isUngated = ({ actions, verdicts }: { actions: number; verdicts: object }): boolean =>
  actions > 0 && Object.keys(verdicts).length === 0

/** What every refusal begins with: a client may report it as the failure of the call. */
const refusal = 'cstp stopped this call'

/** How a completed call went astray; null if it ran as it was judged. @param known as it was checked; null if it was not */
export function astrayOf(
  known: Pick<HookAction, 'may_run'> | null,
  { ok, output }: Pick<Extract<HookEvent, { kind: 'after_tool' }>, 'ok' | 'output'>,
  input_digest: string,
): Astray | null {
  if (known === null) return 'unjudged'
  // Erased, or checked by an earlier version.
  if (known.may_run === undefined) return null
  if (known.may_run === null) return !ok && JSON.stringify(output ?? '').includes(refusal) ? null : 'though_denied'
  return known.may_run === input_digest ? null : 'other_than_judged'
}

/** What the audit trail says of a call that ran astray. */
export const astrayDetail = (
  ran: Astray,
  { tool, record_id: evaluation, input_digest }: Pick<HookAction, 'tool' | 'record_id' | 'input_digest'>,
) => ({ ran, tool, evaluation, input_digest })

/** Writes what is wrong with a client's hooks to the audit trail, and so to the log. */
export function noteAstray(
  tx: Transaction,
  { caller, method, request_id }: { caller: { agent: string }; method: string; request_id: string },
  at_ms: number,
  { session_id }: HookPlace,
  found: ReturnType<typeof astrayDetail> | { hooks: string },
): Promise<void> {
  const detail = { ...found, session_id: session_id.slice(0, 256).toWellFormed() }
  const { agent } = caller
  const at = timestamp(at_ms)
  return tx.append({ audit: [{ at, agent, method, request_id, ids: [], allowed: null, rules: [], detail }] })
}

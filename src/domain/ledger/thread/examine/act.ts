/** Checks an act against its commitment. */
import type { StoredAct } from '../../../../../sdk/storage/thread.ts'
import { commitmentOf } from '../commitment.ts'
import { flawOf, type ThreadFlaw } from './flaw.ts'

/** The payload of an act; null if it was erased, or can't be parsed. */
export function saidBy({ payload }: Pick<StoredAct, 'payload'>): Record<string, unknown> | null {
  if (payload === null) return null
  try {
    const said: unknown = JSON.parse(payload)
    return typeof said === 'object' && said !== null ? (said as Record<string, unknown>) : null
  } catch {
    return null
  }
}

/** Checks payload and salt against the commitment, and the columns against the payload. @param said the parsed payload */
export function actFlaw(act: StoredAct, said: Record<string, unknown> | null): ThreadFlaw | null {
  const { payload, salt, commitment } = act
  if (payload === null && salt === null) return null
  if (payload === null || salt === null)
    return flawOf(act, 'either its payload or its salt is gone, and the other is not')
  if (commitmentOf(salt, payload) !== commitment)
    return flawOf(act, 'payload and salt do not match the log: one of them was changed')
  for (const name of ['record_id', 'kind', 'at'] as const)
    if (said?.[name] !== act[name]) return flawOf(act, `its payload is of another ${name}: ${String(said?.[name])}`)
  return null
}

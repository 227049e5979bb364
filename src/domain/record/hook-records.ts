/** What is stored of the hooks of agents' clients and of the gateway: the names of the collections, and the checked calls of tools. */
import type { VerdictValue } from '../../../sdk/schema/verdict.ts'
import { commitCollection } from './decision/commits.ts'

/** Names of the collections, for moving them to another store. */
export const hookCollections = {
  session: 'hook_session',
  /** Keys of sessions by their start. */
  start: 'hook_session_start',
  action: 'hook_action',
  /** When each client last sent an event. */
  client: 'hook_client',
  commit: commitCollection,
} as const

/** Tools of servers behind the gateway, one record for each server. */
export const pinCollection = 'gateway_pin'

/** A call of a tool. */
export interface HookAction {
  /** Key of its session. */
  session: string
  tool: string
  at_ms: number
  input_digest: string
  /** Digest of the input with which it may run; null if it was stopped, absent if it was not checked. */
  may_run?: string | null
  verdict: VerdictValue | null
  record_id: string | null
  would_block: boolean
  /** Rules that ask for a decision if the call completes. */
  record: string[]
  /** Null until the call completes. */
  ok: boolean | null
  output_digest: string | null
  /** Of the output as canonical JSON; absent in calls of before. */
  output_bytes?: number
  duration_ms: number | null
}

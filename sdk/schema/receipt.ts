/** Receipts: acts with the proof that they are entries of the log. */
import * as v from 'valibot'
import { actKinds } from '../storage/thread.ts'
import { Hash } from './evidence.ts'

const d = v.description

/** An act with the proof that it is an entry of the log. */
export const Receipt = v.object({
  record_id: v.pipe(v.string(), d('Id of the act.')),
  kind: v.pipe(v.picklist(actKinds), d('Kind of act.')),
  index: v.pipe(v.number(), d('Position in the log, from 0.')),
  payload: v.pipe(
    v.nullable(v.record(v.string(), v.unknown())),
    d('Content of the act. The log commits to its canonical JSON (RFC 8785). Null once erased.'),
  ),
  payload_json: v.pipe(
    v.nullable(v.string()),
    d(
      'The payload as the exact bytes that the log commits to, for verifiers without canonical JSON; null once erased.',
    ),
  ),
  salt: v.pipe(v.nullable(Hash), d('32 random bytes; null once erased.')),
  commitment: v.pipe(Hash, d('The entry of the log: `SHA-256("cstp/record/v2" || salt || payload)`.')),
  proof: v.pipe(v.string(), d('C2SP tlog-proof: index, hashes, and the checkpoint with its cosignatures.')),
})
export type Receipt = v.InferOutput<typeof Receipt>

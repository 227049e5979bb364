/** A witness for other logs: cosigns a submitted checkpoint if it extends what was cosigned before. @see C2SP tlog-witness */
import { hash, type KeyObject } from 'node:crypto'
import { type Checkpoint, parseCheckpoint } from '../domain/ledger/engine/checkpoints.ts'
import { bytesOfBase64, cosign, NoteError, openNote, parseNote, type Verifier } from '../domain/ledger/engine/note.ts'
import { verifyConsistency } from '../domain/ledger/engine/proof.ts'
import { rootOf } from '../domain/ledger/engine/tree.ts'
import type { LatestCheckpoint, LatestCheckpoints } from './latest.ts'

/** Outcome of a request, for the witness's log output. */
export interface Handled {
  status: number
  /** Null if the request named no log. */
  origin: string | null
  size: number | null
  message: string
}

interface ServedWitness {
  verifier: Verifier
  key: KeyObject
  /** Keys of the logs that it cosigns; the name of each is the origin of its log. */
  logs: readonly Verifier[]
  latest: LatestCheckpoints
  /** Milliseconds since 1970. */
  now(): number
  handled(what: Handled): void
}

/** Longest body that is read. */
export const maxBodyBytes = 262_144
const maxHashes = 63

interface Submission {
  old_size: number
  /** Lowercase hex. */
  proof: string[]
  note: string
}

/** Reads the body of `add-checkpoint`; null if it is malformed. */
function readSubmission(body: string): Submission | null {
  const gap = body.indexOf('\n\n')
  const [first = '', ...lines] = body.slice(0, Math.max(gap, 0)).split('\n')
  const [, digits = ''] = /^old (0|[1-9]\d{0,15})$/.exec(first) ?? []
  const proof = lines.map((line) => bytesOfBase64(line))
  if (digits === '' || !Number.isSafeInteger(Number(digits)) || lines.length > maxHashes) return null
  if (proof.some((hash) => hash?.length !== 32)) return null
  return { old_size: Number(digits), proof: proof.map((hash) => hash!.toString('hex')), note: body.slice(gap + 2) }
}

const empty = rootOf([])
const plain = { 'content-type': 'text/plain; charset=utf-8' }

/** Why a checkpoint does not follow from the latest one; null if it does. */
function contradiction(latest: LatestCheckpoint | null, { size, root_hash }: Checkpoint, proof: string[]) {
  if (size === 0 && root_hash !== empty) return 'the root of a log without entries is another one'
  const old_size = latest?.size ?? 0
  if (old_size === 0) return proof.length === 0 ? null : 'no proof is needed from size 0'
  const sizes = { old_size, old_root: latest!.root_hash, new_size: size, new_root: root_hash }
  return verifyConsistency({ ...sizes, hashes: proof }) ? null : 'the log does not extend what was cosigned before'
}

/** @returns the handler of requests: `POST /add-checkpoint`, and `GET /<SHA-256 of the origin>/checkpoint` for monitors */
export function createWitnessHandler(witness: ServedWitness): (request: Request) => Promise<Response> {
  const { verifier, key, logs, latest, now, handled } = witness
  const refused = (status: number, message: string, checkpoint: Checkpoint | null = null): Response => {
    handled({ status, origin: checkpoint?.origin ?? null, size: checkpoint?.size ?? null, message })
    return new Response(`${message}\n`, { status, headers: plain })
  }

  function add(body: string): Response {
    const submitted = readSubmission(body)
    if (submitted === null)
      return refused(400, 'expected an old size, a consistency proof, an empty line, a checkpoint')
    const { old_size, proof, note } = submitted
    let checkpoint: Checkpoint
    try {
      checkpoint = parseCheckpoint(parseNote(note).text)
    } catch (error) {
      if (!(error instanceof NoteError)) throw error
      return refused(400, error.message)
    }
    const { origin, size, root_hash } = checkpoint
    const keys = logs.filter(({ name }) => name === origin)
    if (keys.length === 0) return refused(404, 'this witness does not know the log', checkpoint)
    try {
      openNote(note, keys)
    } catch (error) {
      if (!(error instanceof NoteError)) throw error
      return refused(403, error.message, checkpoint)
    }
    if (old_size > size) return refused(400, 'the old size is larger than that of the checkpoint', checkpoint)
    const before = latest.get(origin)
    const conflict = (known: number): Response => {
      handled({ status: 409, origin, size, message: `cosigned before: ${known}` })
      return new Response(`${known}\n`, { status: 409, headers: { 'content-type': 'text/x.tlog.size' } })
    }
    if (old_size !== (before?.size ?? 0)) return conflict(before?.size ?? 0)
    if (before?.size === size && before.root_hash !== root_hash)
      return refused(409, 'the log has another root at the size that was cosigned before', checkpoint)
    const reason = contradiction(before, checkpoint, proof)
    if (reason !== null) return refused(422, reason, checkpoint)
    const cosigned = cosign(ownSignatures(note, keys), verifier, key, Math.floor(now() / 1_000))
    if (!latest.step(origin, before, { size, root_hash, note: cosigned }))
      return conflict(latest.get(origin)?.size ?? 0)
    handled({ status: 200, origin, size, message: 'cosigned' })
    return new Response(parseNote(cosigned).signatures.at(-1)!.line, { headers: plain })
  }

  return async (request) => {
    // The URL's host comes from the client and need not be valid.
    const pathname = /^https?:\/\/[^/]*([^?#]*)/.exec(request.url)?.[1] ?? ''
    if (pathname === '/add-checkpoint') {
      if (request.method !== 'POST') return new Response(null, { status: 405, headers: { allow: 'POST' } })
      const body = await request.bytes()
      if (body.length > maxBodyBytes) return refused(413, `expected at most ${maxBodyBytes} bytes`)
      return add(Buffer.from(body).toString())
    }
    const [, digest] = /^\/([0-9a-f]{64})\/checkpoint$/.exec(pathname) ?? []
    const origin = digest && latest.origins().find((one) => hash('sha256', one, 'hex') === digest)
    const found = origin ? latest.get(origin) : null
    if (found && (request.method === 'GET' || request.method === 'HEAD'))
      return new Response(found.note, { headers: { ...plain, 'cache-control': 'no-cache' } })
    return new Response('there is no such checkpoint\n', { status: 404, headers: plain })
  }
}

/** The note with the signatures of these keys only: other signatures were not checked. */
function ownSignatures(note: string, keys: readonly Verifier[]): string {
  const { text, signatures } = parseNote(note)
  const own = signatures.filter(({ name, id }) => keys.some((one) => one.name === name && one.id === id))
  return `${text}\n${own.map(({ line }) => line).join('')}`
}

/** Verifies a whole log given as static files: entries, hash tiles and checkpoint. @see C2SP tlog-tiles */
import { hash as digestOf } from 'node:crypto'
import { openMerkle, type ReadNote, reading, readNote } from './note.ts'
import { type Cosigned, checkSignatures, type Policy } from './policy.ts'
import { openFindings, type Report } from './report.ts'

const checks = {
  form: 'The folder contains a log: a checkpoint, tiles and bundles of entries',
  log: 'A log that you trust signed the checkpoint',
  witnesses: 'Enough of the witnesses that you trust cosigned the checkpoint',
  entries: 'The entries give the root of the checkpoint',
  tiles: 'Every tile has the hashes of the entries below it',
} as const
type CheckName = keyof typeof checks

export interface LogReport extends Report<CheckName> {
  log: { origin: string; size: number; root_hash: string; cosigned_by: Cosigned[] } | null
}

/** The content of a file of the log by its path; null if there is none. */
export type ReadLogFile = (path: string) => Promise<Uint8Array | null>

const full = 256

/** `x001/x234/067` for 1234067. */
function digits(index: number): string {
  const groups: string[] = []
  for (let left = index; groups.length === 0 || left > 0; left = Math.floor(left / 1_000))
    groups.unshift(String(left % 1_000).padStart(3, '0'))
  return groups.map((group, at) => (at < groups.length - 1 ? `x${group}` : group)).join('/')
}

/** The file of a tile or a bundle; a full one is accepted in place of a partial one. */
async function tileOf(read: ReadLogFile, level: string, index: number, width: number): Promise<Uint8Array | null> {
  const path = `tile/${level}/${digits(index)}`
  const partial = width < full ? await read(`${path}.p/${width}`) : null
  return partial ?? (await read(path))
}

/** The first entries of a bundle; null if it has fewer, or more than a full one. */
function entriesOf(bundle: Uint8Array, count: number): Buffer[] | null {
  const bytes = Buffer.from(bundle)
  const entries: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = at + 2 + (at + 2 <= bytes.length ? bytes.readUInt16BE(at) : 0)
    if (at + 2 > bytes.length || end > bytes.length) return null
    entries.push(bytes.subarray(at + 2, end))
    at = end
  }
  return entries.length < count || entries.length > full ? null : entries.slice(0, count)
}

const sha256 = (...parts: Uint8Array[]): Buffer => digestOf('sha256', Buffer.concat(parts), 'buffer')

/** The root over the hashes of a full tile. */
function rootOfTile(hashes: readonly Buffer[]): Buffer {
  let row = hashes
  while (row.length > 1)
    row = Array.from({ length: row.length / 2 }, (_, at) => sha256(Uint8Array.of(1), row[2 * at]!, row[2 * at + 1]!))
  return row[0]!
}

/** Walks the bundles, and compares the hashes computed from them with tiles and root. */
async function walk(
  read: ReadLogFile,
  { size, root_hash }: ReadNote,
  failed: (check: CheckName, message: string) => void,
): Promise<void> {
  const merkle = openMerkle()
  /** The tile that is being filled on each level: its index and hashes. */
  const rows: { index: number; hashes: Buffer[] }[] = []
  const compare = async (level: number): Promise<void> => {
    const { index, hashes } = rows[level]!
    const found = await tileOf(read, String(level), index, hashes.length)
    const expected = Buffer.concat(hashes)
    const where = `tile ${digits(index)} of level ${level}`
    if (found === null) failed('tiles', `${where} is missing`)
    else if (!expected.equals(found.subarray(0, expected.length))) failed('tiles', `${where} has other hashes`)
  }
  const add = async (level: number, hash: Buffer): Promise<void> => {
    rows[level] ??= { index: 0, hashes: [] }
    const row = rows[level]
    if (row.hashes.push(hash) < full) return
    await compare(level)
    await add(level + 1, rootOfTile(row.hashes))
    rows[level] = { index: row.index + 1, hashes: [] }
  }
  for (let index = 0; index * full < size; index++) {
    const width = Math.min(full, size - index * full)
    const bundle = await tileOf(read, 'entries', index, width)
    const entries = bundle && entriesOf(bundle, width)
    if (!entries) return failed('entries', `bundle ${digits(index)} is ${bundle ? 'damaged' : 'missing'}`)
    for (const entry of entries) {
      merkle.add(entry.toString('hex'))
      await add(0, sha256(Uint8Array.of(0), entry))
    }
  }
  for (const [level, { hashes }] of rows.entries()) if (hashes.length > 0) await compare(level)
  if (merkle.root() !== root_hash) failed('entries', 'the entries give another root: some were changed or exchanged')
}

/** @param policy with at least one log */
export async function verifyLog(read: ReadLogFile, policy: Policy): Promise<LogReport> {
  const findings = openFindings(checks)
  const file = await read('checkpoint')
  if (file === null) findings.fail('form', 'there is no file checkpoint')
  const note =
    file &&
    reading(
      () => readNote(new TextDecoder().decode(file)),
      (why) => findings.fail('form', `the checkpoint ${why}`),
    )
  let log: LogReport['log'] = null
  if (note) {
    const { origin, size, root_hash } = note
    log = { origin, size, root_hash, cosigned_by: checkSignatures(note, policy, findings.fail) }
    await walk(read, note, findings.fail)
  }
  const isWitnessed = policy.quorum !== 'none'
  const unread = log === null && 'unasked'
  const report = findings.end(
    { log: log ? `${log.origin}, size ${log.size}` : '' },
    { log: unread, witnesses: isWitnessed ? unread : 'unasked', entries: unread, tiles: unread },
  )
  if (!report.verified)
    return { ...report, log, proved: [], open: ['The verification failed: do not rely on this copy of the log.'] }
  const proved = [`These are the ${log!.size} entries of the log ${log!.origin}, in its order.`]
  const open = ['What the entries mean: they are commitments, and a receipt shows the act behind one.']
  if (isWitnessed) proved.push('The witnesses that the policy requires saw this state of the log.')
  else open.push('Whether the log shows others a different history: give a policy with witnesses.')
  return { ...report, log, proved, open }
}

/**
 * Checkpoints: what a log was at one size, as the text of a note.
 * @see C2SP tlog-checkpoint
 */
import { bytesOfBase64, NoteError } from './keys.ts'

export interface Checkpoint {
  /** Which log it is. */
  origin: string
  /** Records. */
  size: number
  /** Lowercase hex. */
  root_hash: string
}

/** The text that is signed. */
export const checkpointText = ({ origin, size, root_hash }: Checkpoint): string =>
  `${origin}\n${size}\n${Buffer.from(root_hash, 'hex').toString('base64')}\n`

/** Reads the text of a checkpoint. Lines after the third one are the log's own and are passed over. @throws NoteError */
export function parseCheckpoint(text: string): Checkpoint {
  const lines = text.split('\n')
  if (lines.length < 4 || lines.pop() !== '' || lines.includes(''))
    throw new NoteError('expected a checkpoint: three lines or more, none of them empty')
  const [origin = '', decimal = '', encoded = ''] = lines
  const size = Number(decimal)
  if (!/^(?:0|[1-9]\d*)$/.test(decimal) || !Number.isSafeInteger(size))
    throw new NoteError('expected a checkpoint whose second line is its size')
  const root = bytesOfBase64(encoded)
  if (root?.length !== 32) throw new NoteError('expected a checkpoint whose third line is a root hash in base64')
  return { origin, size, root_hash: root.toString('hex') }
}

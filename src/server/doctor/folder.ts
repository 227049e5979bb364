/** The data directory: there, one's own, writable, private, with room, and free of leftovers. */
import { mkdirSync, readdirSync, rmdirSync, statfsSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { unfinished } from '../backup/unfinished.ts'
import { type Check, error, type Finding, note, reason, warning, word } from './finding.ts'

const least = 100e6
const scarce = 1e9

const exists = (path: string) => statSync(path, { throwIfNoEntry: false })

/** A file or folder that others of the machine can read. */
function* exposed(path: string): Generator<Finding> {
  const found = exists(path)
  if (!found || process.platform === 'win32') return
  const mode = found.mode & 0o777
  const wanted = found.isDirectory() ? 0o700 : 0o600
  if ((mode & 0o077) !== 0)
    yield warning(
      `other users of the machine can get at ${path} (mode ${mode.toString(8)})`,
      `chmod ${wanted.toString(8)} ${word(path)}`,
    )
}

function* writable(data_dir: string, owner: number): Generator<Finding> {
  const probe = join(data_dir, `.doctor.${process.pid}.tmp`)
  try {
    mkdirSync(probe)
    rmdirSync(probe)
  } catch (thrown) {
    yield error(`${data_dir} can't be written to: ${reason(thrown)}`, `run cstp as its owner, or chown it`)
  }
  const own = process.getuid?.()
  if (own !== undefined && own !== owner)
    yield warning(
      `${data_dir} belongs to user ${owner}, and this is user ${own}`,
      'run cstp as the user of the service; files that root makes, the service could not open',
    )
}

function* room(data_dir: string): Generator<Finding> {
  const { bavail, bsize } = statfsSync(data_dir)
  const free = bavail * bsize
  const text = `${Math.round(free / 1e6)} MB are free on the disk of ${data_dir}`
  if (free < least) yield error(text, 'make room: without it nothing can be recorded')
  else if (free < scarce) yield warning(text, 'make room soon')
}

function* leftovers(data_dir: string): Generator<Finding> {
  if (exists(join(data_dir, unfinished)))
    yield error(`a restore into ${data_dir} was cut off`, 'empty the folder, then cstp restore again')
  for (const name of readdirSync(data_dir))
    if (/^token\..*\.tmp$/.test(name))
      yield note(`${join(data_dir, name)} is left of a start that was cut off`, `rm ${word(join(data_dir, name))}`)
  const parent = dirname(data_dir)
  for (const name of readdirSync(parent)) {
    if (!name.startsWith(`.${basename(data_dir)}.`) || !name.endsWith('.partial')) continue
    const path = join(parent, name)
    yield note(`${path} is left of a restore that was cut off`, `rm -r ${word(path)}`)
  }
}

export const checkFolder: Check = {
  name: 'data directory',
  *run({ data_dir, auth_tokens }) {
    const found = exists(data_dir)
    if (!found) {
      yield note(`there is no ${data_dir} yet`, 'cstp serve makes it')
      return
    }
    if (!found.isDirectory()) {
      yield error(`${data_dir} is not a folder`, 'name another one in CSTP_DATA_DIR')
      return
    }
    yield* exposed(data_dir)
    yield* writable(data_dir, found.uid)
    yield* room(data_dir)
    yield* leftovers(data_dir)
    yield* exposed(join(data_dir, 'token'))
    const token = exists(join(data_dir, 'token'))
    if (token?.size === 0)
      yield error('the file token is empty', `rm ${word(join(data_dir, 'token'))}; the next start makes one`)
    if (token && auth_tokens)
      yield note(
        'CSTP_AUTH_TOKENS is set, so the token in the file token is not accepted',
        `rm ${word(join(data_dir, 'token'))}`,
      )
  },
}

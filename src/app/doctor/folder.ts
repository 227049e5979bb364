/** Checks the data directory: existence, owner, write access, permissions, free space and leftovers. */
import { mkdirSync, readdirSync, rmdirSync, statfsSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { quoted } from '../../../plugin/hooks/cstp-hook.mjs'
import { messageOf } from '../../core/log.ts'
import { ownAgents, tokenPath } from '../../core/token-file.ts'
import { unfinished } from '../backup/files.ts'
import { type Check, error, type Finding, note, warning } from './finding.ts'

/** Free space in bytes: less than the first is an error, less than the second a warning. */
const leastBytes = 100e6
const scarceBytes = 1e9

const exists = (path: string) => statSync(path, { throwIfNoEntry: false })

/** A file or folder that other users of the machine can access. */
function* exposed(path: string): Generator<Finding> {
  const found = exists(path)
  if (!found || process.platform === 'win32') return
  const mode = found.mode & 0o777
  const wanted = found.isDirectory() ? 0o700 : 0o600
  if ((mode & 0o077) !== 0)
    yield warning(
      `other users of the machine can access ${path} (mode ${mode.toString(8)})`,
      `chmod ${wanted.toString(8)} ${quoted(path)}`,
    )
}

function* writable(data_dir: string, owner: number): Generator<Finding> {
  const probe = join(data_dir, `.doctor.${process.pid}.tmp`)
  try {
    mkdirSync(probe)
    rmdirSync(probe)
  } catch (thrown) {
    yield error(`${data_dir} can't be written to: ${messageOf(thrown)}`, 'run cstp as its owner, or chown it')
  }
  const own = process.getuid?.()
  if (own !== undefined && own !== owner)
    yield warning(
      `${data_dir} belongs to user ${owner}, and this is user ${own}`,
      'run cstp as the user of the service, which could not open files of another user',
    )
}

function* room(data_dir: string): Generator<Finding> {
  const { bavail, bsize } = statfsSync(data_dir)
  const free = bavail * bsize
  const text = `${Math.round(free / 1e6)} MB are free on the disk of ${data_dir}`
  if (free < leastBytes) yield error(text, 'free disk space: nothing can be recorded without it')
  else if (free < scarceBytes) yield warning(text, 'free disk space soon')
}

function* leftovers(data_dir: string): Generator<Finding> {
  if (exists(join(data_dir, unfinished)))
    yield error(`a restore into ${data_dir} was interrupted`, 'empty the folder, then run cstp restore again')
  for (const name of readdirSync(data_dir))
    if (/^(?:admin\.)?token\..*\.tmp$/.test(name))
      yield note(
        `${join(data_dir, name)} was left by a start that was interrupted`,
        `rm ${quoted(join(data_dir, name))}`,
      )
  const parent = dirname(data_dir)
  for (const name of readdirSync(parent)) {
    if (!name.startsWith(`.${basename(data_dir)}.`) || !name.endsWith('.partial')) continue
    const path = join(parent, name)
    yield note(`${path} was left by a restore that was interrupted`, `rm -r ${quoted(path)}`)
  }
}

export const checkFolder: Check = {
  name: 'data directory',
  *run({ data_dir, auth_tokens }) {
    const found = exists(data_dir)
    if (!found) {
      yield note(`${data_dir} does not exist yet`, 'cstp serve creates it')
      return
    }
    if (!found.isDirectory()) {
      yield error(`${data_dir} is not a folder`, 'set CSTP_DATA_DIR to a folder')
      return
    }
    yield* exposed(data_dir)
    yield* writable(data_dir, found.uid)
    yield* room(data_dir)
    yield* leftovers(data_dir)
    for (const name of ['cstp.db', 'cstp.db-wal', 'cstp.db-shm', 'provenance.db']) yield* exposed(join(data_dir, name))
    for (const { agent, file } of ownAgents) {
      const path = tokenPath(data_dir, agent)
      const token = exists(path)
      yield* exposed(path)
      if (token?.size === 0) yield error(`the file ${file} is empty`, `rm ${quoted(path)}; the next start creates one`)
      if (token && auth_tokens)
        yield note(`CSTP_AUTH_TOKENS is set, so the token in the file ${file} is not accepted`, `rm ${quoted(path)}`)
    }
  },
}

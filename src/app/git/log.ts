/** Reads the commits of a repository, the newest first, with the files that each changes. */
import { startGit } from './run.ts'

/** A changed file: object names before and after, all zeros if there is none. */
export interface Change {
  path: string
  before: string
  after: string
}

export interface Commit {
  sha: string
  parents: string[]
  /** When it was written, and when it came into this history. */
  author_ms: number
  commit_ms: number
  author: string
  message: string
  /** Against the first parent; at most {@link maxChanges}. */
  changes: Change[]
  /** Number of all changes. */
  changed: number
}

export interface LogOptions {
  /** What to start from. */
  from: string
  max: number
  /** RFC 3339 or a day. */
  since?: string | null
  /** Leaves out the changes, which takes most of the time. */
  messages_only?: boolean
}

export const maxChanges = 1_000
/** Longer messages, names and paths are cut. */
const maxToken = 32_768
const mark = 'commit '

/** The tokens between zero bytes, each cut to a bounded length. */
async function* tokens(stream: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let parts: Uint8Array[] = []
  let size = 0
  const add = (part: Uint8Array) => {
    const room = maxToken - size
    if (room > 0) parts.push(part.length > room ? part.slice(0, room) : part.slice())
    size += part.length
  }
  for await (const chunk of stream) {
    let start = 0
    for (let end = chunk.indexOf(0); end !== -1; end = chunk.indexOf(0, start)) {
      add(chunk.subarray(start, end))
      yield Buffer.concat(parts).toString('utf8')
      parts = []
      size = 0
      start = end + 1
    }
    add(chunk.subarray(start))
  }
}

const commitOf = ([
  sha = '',
  parents = '',
  author = '',
  committed = '',
  name = '',
  message = '',
]: string[]): Commit => ({
  sha,
  parents: parents === '' ? [] : parents.split(' '),
  author_ms: Number(author) * 1_000,
  commit_ms: Number(committed) * 1_000,
  author: name,
  message,
  changes: [],
  changed: 0,
})

/** The commits, the newest first and children before their parents. Ends early if the consumer does. */
export async function* commits(folder: string, options: LogOptions): AsyncGenerator<Commit> {
  const { from, max, since = null, messages_only = false } = options
  const child = startGit(folder, [
    'log',
    '-z',
    '--topo-order',
    `--max-count=${max}`,
    ...(since === null ? [] : [`--since=${since}`]),
    '--no-color',
    '--no-notes',
    '--no-show-signature',
    '--no-textconv',
    '--no-ext-diff',
    '--encoding=UTF-8',
    `--format=tformat:${mark}%H%x00%P%x00%at%x00%ct%x00%aN%x00%B%x00`,
    ...(messages_only
      ? ['--no-patch']
      : ['--raw', '--no-abbrev', '--no-renames', '--ignore-submodules=all', '--diff-merges=first-parent']),
    from,
    '--',
  ])
  try {
    let fields: string[] = []
    let commit: Commit | null = null
    let header: string | null = null
    for await (const token of tokens(child.stdout as unknown as AsyncIterable<Uint8Array>)) {
      if (fields.length > 0) {
        fields.push(token)
        if (fields.length < 6) continue
        commit = commitOf(fields)
        fields = []
      } else if (header !== null) {
        const [, , before = '', after = ''] = header.split(' ')
        if (commit && ++commit.changed <= maxChanges) commit.changes.push({ path: token, before, after })
        header = null
      } else if (token.startsWith(mark)) {
        if (commit) yield commit
        commit = null
        fields = [token.slice(mark.length)]
      } else if (/^\n*:/.test(token)) header = token.trimStart()
    }
    if (commit) yield commit
  } finally {
    child.kill()
    await child.exited
  }
}

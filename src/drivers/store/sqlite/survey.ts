/** Compares all files with the database by size and time, a month of rows at a time, and lists those that may differ. */
import { join } from 'node:path'
import type { FileFinding } from '../../../../sdk/storage/store.ts'
import type { Statements } from './connect.ts'
import { fileStat, filesBelow, isTemp, linkProblem, placeOf, relativePath } from './files.ts'

export interface Survey {
  /** Ids whose files are new, changed or missing. */
  ids: string[]
  /** Files in the wrong place. */
  findings: FileFinding[]
  /** Temporary files of this program. */
  temps: string[]
}

/** A running comparison; if it is stopped, it finds nothing. */
export interface Looking {
  found: Promise<Survey>
  stop(): void
}

type State = [id: string, size: number, mtime: number, gone: number]

/** The files of a month are all in one folder. */
const monthOf = (id: string): string => id.slice(0, 7)

/** Files to check before other work gets a turn: a few milliseconds. */
const pace = 500

export function surveyor({ prepare }: Statements, root: string): () => Looking {
  const states = prepare<unknown, [string, string]>(
    'select id, file_size, file_mtime, gone from decisions where id >= ? and id < ?',
  )
  const months = prepare<{ month: string }, []>('select distinct substr(id, 1, 7) as month from decisions')

  async function look(isStopped: () => boolean): Promise<Survey> {
    const temps: string[] = []
    const ids: string[] = []
    const findings: FileFinding[] = []
    const links: string[] = []
    const unseen = new Set(months.all().map(({ month }) => month))
    let month = ''
    let known = new Map<string, State>()
    // Decisions behind a link keep their rows as they are.
    const isBehind = (id: string) => links.some((path) => `${relativePath(id)}/`.startsWith(`${path}/`))
    const leave = (): void => {
      for (const id of known.keys()) if (!isBehind(id)) ids.push(id)
    }
    const enter = (next: string): void => {
      leave()
      month = next
      unseen.delete(month)
      known = new Map((states.values(month, `${month}\u{10ffff}`) as State[]).map((state) => [state[0], state]))
    }
    let seen = 0
    for (const { path, link } of filesBelow(root)) {
      if (++seen % pace === 0) await Bun.sleep(0)
      // Files that were not checked must not count as missing.
      if (isStopped()) return { ids: [], findings: [], temps: [] }
      if (link) {
        findings.push({ path, kind: 'broken', message: linkProblem })
        links.push(path)
        continue
      }
      if (isTemp(path)) temps.push(path)
      if (!path.endsWith('.yaml')) continue
      const id = path.slice(path.lastIndexOf('/') + 1, -'.yaml'.length)
      if (path !== relativePath(id)) {
        const place = placeOf(id)
        const message = place ? `a file of this name belongs at ${place}` : 'its name is not the id of a decision'
        findings.push({ path, kind: 'broken', message })
        continue
      }
      if (monthOf(id) !== month) enter(monthOf(id))
      const [, size, mtime, gone] = known.get(id) ?? []
      known.delete(id)
      const stat = fileStat(join(root, path))
      if (stat !== null && !(gone === 0 && stat.size === size && stat.mtime === mtime)) ids.push(id)
    }
    for (const one of unseen) enter(one)
    leave()
    return { ids, findings, temps }
  }

  return () => {
    let stopped = false
    return {
      found: look(() => stopped),
      stop() {
        stopped = true
      },
    }
  }
}

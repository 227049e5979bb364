/** cstp reindex: rebuilds all embeddings, with progress. */
import { defineCommand, value } from './command.ts'
import { type Connection, connectionFlags, withConnection } from './connection.ts'
import type { Get } from './remote.ts'
import { plain, print, withProgress } from './terminal.ts'

const pollMs = 500

/** Polls the progress of a server until `done` aborts. Ignores errors, since the call itself reports them. */
async function watch(get: Get, show: (done: number, total: number) => void, done: AbortSignal): Promise<void> {
  const before = await gauges(get)
  let started = false
  while (!done.aborted) {
    const now = await gauges(get)
    // The gauges show the previous reindex until this one has processed its first decision.
    started ||= now !== null && (before === null || now.done !== before.done || now.total !== before.total)
    if (now && started && !done.aborted) show(now.done, now.total)
    await Bun.sleep(pollMs)
  }
}

async function gauges(get: Get): Promise<{ done: number; total: number } | null> {
  try {
    const text = await (await get('/metrics')).text()
    const read = (of: string) => {
      const found = new RegExp(`^cstp_reindex_decisions\\{of="${of}"\\} (\\d+)$`, 'm').exec(text)
      return found ? Number(found[1]) : null
    }
    const [done, total] = [read('done'), read('total')]
    return done === null || total === null ? null : { done, total }
  } catch {
    return null
  }
}

export const reindex = defineCommand({
  name: 'reindex',
  summary: 'Rebuild embeddings from the stored decisions.',
  about: [
    'Needed after a change of the embedder or its model, and useful after files were edited or restored by hand, as they are read again first. The old embeddings are used until the new ones are complete.',
    'A server requires an agent with the scope admin.',
  ],
  flags: {
    path: value('folder', 'Only the decisions in this folder of the data directory, such as decisions/2026.'),
    ...connectionFlags,
  },
  examples: [
    ['cstp reindex', 'on the running server'],
    ['cstp reindex --local --path decisions/2026/07', 'one month, without a server'],
  ],
  async run(run) {
    const { terminal, flags, json } = run
    const params = flags.path === undefined ? {} : { decisions_path: flags.path }
    const result = await withProgress(terminal, (progress) => {
      const show = (done: number, total: number) =>
        progress.show(total === 0 ? null : done / total, `${done} of ${total} decisions`)
      const reindexed = async ({ call, get }: Connection) => {
        const done = new AbortController()
        const watching = get && terminal.live ? watch(get, show, done.signal) : null
        try {
          return await call('reindex', params)
        } finally {
          done.abort()
          await watching
        }
      }
      return withConnection(run, reindexed, { reindexProgress: show })
    })
    if (!json)
      for (const { path, kind, message } of result.findings) terminal.note(`${kind}: ${plain(`${path}: ${message}`)}\n`)
    const { decisions_indexed, errors, duration_ms, success } = result
    const failed = errors === 0 ? '' : `, ${errors} failed or have invalid files`
    await print(
      run,
      result,
      () => `${decisions_indexed} decisions indexed${failed}, in ${(duration_ms / 1_000).toFixed(1)} s\n`,
    )
    return success ? 0 : 1
  },
})

/** cstp reindex: all vectors anew, with progress. */
import { defineCommand } from './command.ts'
import { connectionFlags, openConnection } from './connection.ts'
import type { Get } from './remote.ts'
import { openProgress, plain, prettyJson } from './terminal.ts'

const pollMs = 500

/** Asks a server how far it is until `done` aborts. What can't be asked is not shown: the call itself says what is wrong. */
async function watch(get: Get, show: (done: number, total: number) => void, done: AbortSignal): Promise<void> {
  const before = await gauges(get)
  let started = false
  while (!done.aborted) {
    const now = await gauges(get)
    // The gauges still tell of the last reindex until this one has made its first decision.
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
  usage: '[flags]',
  summary: 'Make all vectors anew, from the stored decisions.',
  about: [
    'Needed after another embedder or model was chosen, and useful after files were edited or restored by hand: they are read again first. The old vectors serve until the new ones are complete.',
    'Against a server it needs an agent with the scope admin.',
  ],
  flags: {
    path: {
      kind: 'value',
      value: 'folder',
      about: 'Only the decisions below this folder of the data directory, such as decisions/2026.',
    },
    ...connectionFlags,
  },
  words: [0, 0],
  examples: [
    ['cstp reindex', 'on the running server'],
    ['cstp reindex --local --path decisions/2026/07', 'one month, without a server'],
  ],
  async run(run) {
    const { terminal, flags, json } = run
    const progress = openProgress(terminal)
    const show = (done: number, total: number) =>
      progress.show(total === 0 ? null : done / total, `${done} of ${total} decisions`)
    const connection = await openConnection(run, { signal: run.signal, reindexProgress: show })
    const done = new AbortController()
    const watching = connection.get && terminal.live ? watch(connection.get, show, done.signal) : null
    try {
      const params = flags.path === undefined ? {} : { decisions_path: flags.path }
      const result = await connection.call('reindex', params)
      progress.end()
      if (json) await terminal.out(prettyJson(result))
      else {
        for (const { path, kind, message } of result.findings)
          terminal.note(`${kind}: ${plain(`${path}: ${message}`)}\n`)
        const errors = result.errors === 0 ? '' : `, ${result.errors} failed or lie in broken files`
        await terminal.out(
          `${result.decisions_indexed} decisions indexed${errors}, in ${(result.duration_ms / 1_000).toFixed(1)} s\n`,
        )
      }
      return result.success ? 0 : 1
    } finally {
      done.abort()
      progress.end()
      await watching
      await connection.close()
    }
  },
})

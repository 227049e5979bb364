/** cstp log: exports the log of all acts for outside readers. */
import { resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { exportLog } from '../transparency/export.ts'
import { NoteFormError } from '../verify/note.ts'
import { defineCommand, type Run } from './command.ts'
import { connectionFlags } from './connection.ts'
import { Failure } from './failure.ts'
import { serverUrl } from './remote.ts'
import { openLog, plain, print, withProgress } from './terminal.ts'

const { agent: _, token: __, ...placeFlags } = connectionFlags

/** Reads files of the log by path. */
interface LogFiles {
  verifierKey(): Promise<string>
  read(path: string): Promise<Uint8Array | null>
  close(): Promise<void>
}

/** Fetches a file of the log, without credentials; null if it does not exist. Waits if the server limits the rate. */
async function readOpen(url: string, signal: AbortSignal): Promise<Uint8Array | null> {
  for (;;) {
    const response = await fetch(url, { redirect: 'error', signal }).catch((error: Error) => {
      signal.throwIfAborted()
      throw new Failure(`${url} can't be reached: ${error.message}`)
    })
    if (response.ok) return response.bytes()
    if (response.status === 404) return null
    if (response.status !== 429) throw new Failure(`${url}: HTTP ${response.status}`)
    await setTimeout(1_000 * Number(response.headers.get('retry-after') ?? 1), undefined, { signal })
  }
}

async function openFiles(run: Run<typeof placeFlags>): Promise<LogFiles> {
  const configuration = await run.configuration()
  const { settings } = configuration
  if (run.flags.local) {
    const log = openLog(configuration, { quiet: true })
    // Loaded only here: calling a server does not need it.
    const { openProgram } = await import('../app/server.ts')
    const { filesOfLog } = await import('../app/publisher.ts')
    const program = await openProgram(settings, log, {}, { brief: true })
    const { verifier_key, checkpoint, tile } = filesOfLog(program.services)
    return {
      verifierKey: async () => verifier_key,
      read: async (path) => (path === 'checkpoint' ? Buffer.from(await checkpoint()) : tile(path)),
      async close() {
        await program.close()
        log.flush()
      },
    }
  }
  const url = serverUrl(run.flags.url, settings)
  const get = (path: string) => readOpen(`${url}${path}`, run.signal)
  return {
    verifierKey: async () => new TextDecoder().decode((await get('/.well-known/cstp-log-key')) ?? undefined).trim(),
    read: (path) => get(`/log/${path}`),
    close: async () => {},
  }
}

async function withFiles<T>(run: Run<typeof placeFlags>, work: (files: LogFiles) => Promise<T>): Promise<T> {
  const files = await openFiles(run)
  try {
    return await work(files)
  } finally {
    await files.close()
  }
}

const verbs = [
  defineCommand({
    name: 'log export',
    usage: '<folder>',
    summary: 'Write the log as static files: checkpoint, tiles and entries.',
    about: [
      'The files are those of the C2SP tlog-tiles specification, as the server has them at /log/: any web server can serve the folder, and any client of that specification can read it. The entries are commitments, which disclose nothing.',
      'A later export adds new entries; an interrupted export continues where it stopped. The checkpoint is written last.',
      'cstp verify <folder> --key <key> verifies all of it offline.',
    ],
    flags: placeFlags,
    examples: [['cstp log export ./public/log', 'what a web server shows to auditors']],
    async run(run) {
      const folder = resolve(run.words[0]!)
      const done = await withProgress(run.terminal, (bar) =>
        withFiles(run, ({ read }) =>
          exportLog(read, folder, (size, done) => bar.show(null, `${done} tiles of a log of ${size} entries`)),
        ),
      ).catch((error: unknown) => {
        if (error instanceof NoteFormError) throw new Failure(`the checkpoint of the log ${error.message}`)
        throw error
      })
      const { origin, size, written, kept } = done
      await print(
        run,
        { path: folder, ...done },
        () => `${size} entries of ${plain(origin)} in ${plain(folder)}: ${written} files written, ${kept} kept\n`,
      )
    },
  }),
  defineCommand({
    name: 'log key',
    summary: 'Print the verifier key of the log.',
    about: [
      'It derives from the evidence key. Give it to witnesses, and to auditors over another channel than the receipts.',
    ],
    flags: placeFlags,
    examples: [['cstp log key > log.key', 'for cstp verify --key, or a line "log <key>" of a policy']],
    async run(run) {
      const verifier_key = await withFiles(run, ({ verifierKey }) => verifierKey())
      await print(run, { verifier_key }, () => `${verifier_key}\n`)
    },
  }),
]

export const log = defineCommand({
  name: 'log',
  summary: 'Export the log of all acts as static files, or print its key.',
  about: ['Receipts (cstp.getReceipt) prove that an act is in it.'],
  verbs,
  examples: [['cstp help log export', 'what one of them does']],
})

/** The program opened in this process on a data directory, without a server, as often as a test likes. */
import { loadSettings, type Settings } from '../../src/app/config/config.ts'
import { openProgram } from '../../src/app/server.ts'

/** A log that says nothing. */
export const log = Object.assign(() => {}, { flush() {} })

/** Settings of a data directory, with an embedder that needs no model. */
export const settingsOf = async (dir: string, env: Record<string, string> = {}): Promise<Settings> => {
  const given = { CSTP_DATA_DIR: dir, CSTP_EMBEDDER: 'hash', ...env }
  return (await loadSettings({ env: given, flags: {}, readFile: async () => '' })).settings
}

/** An observed event. */
export const event = {
  ts: '2026-07-01T00:00:00Z',
  source: 'ci',
  event_type: 'pr_opened',
  evidence_class: 'observed',
  payload: '{}',
} as const

export type Program = Awaited<ReturnType<typeof openProgram>>

/** Opens the program of the settings for a while. */
export async function withProgram<T>(settings: Settings, work: (program: Program) => Promise<T>): Promise<T> {
  const program = await openProgram(settings, log)
  try {
    return await work(program)
  } finally {
    await program.close()
  }
}

/** cstp witness: watches the evidence log of a server from outside. */
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { durationMs } from '../core/time.ts'
import { Alarm } from '../transparency/check.ts'
import { lookAt, openWitness, readVerifier } from '../transparency/open.ts'
import { Unreachable } from '../transparency/reader.ts'
import { defineCommand, toggle, value } from './command.ts'
import { Failure, misuse } from './failure.ts'
import { jsonLine, plain, type Terminal } from './terminal.ts'
import { witnessFlags, witnessServe } from './witness-serve.ts'

const alarmStatus = 3

function urlOf(given: string): string {
  if (!/^https?:\/\//.test(given) || !URL.canParse(given))
    throw misuse(`expected an address such as https://cstp.example.com, received ${JSON.stringify(given)}`)
  const { username, password, search, hash } = new URL(given)
  if (username || password || search || hash) throw misuse('the address must have no credentials, query or fragment')
  return given.replace(/(?<!\/)\/+$/, '')
}

function intervalOf(given: string): number {
  const ms = /^\d{1,6}[smh]$/.test(given) ? durationMs(given) : 0
  if (ms === 0) throw misuse(`--interval needs a time such as 60s, 5m or 1h; received ${JSON.stringify(given)}`)
  return ms
}

/** Reports an alarm, with the location of the proof. */
function showAlarm(alarm: Alarm, url: string, json: boolean, { note, notePaint }: Terminal): void {
  const { kind, message, kept } = alarm
  if (json) note(jsonLine({ alarm: kind, message, url, kept }))
  else
    note(
      `${notePaint.red(`ALARM (${kind})`)} ${plain(url)}: ${plain(message)}\n` +
        `  what was seen and what is served now is stored in ${kept}\n` +
        '  Show both notes to everyone who relies on this log, and do not trust it until this is explained.\n',
    )
}

export const witness = defineCommand({
  name: 'witness',
  usage: '<url>',
  verbs: [witnessServe],
  summary: 'Watch the evidence log of a server: check that it only grows, and cosign its checkpoints.',
  about: [
    'Fetches the log’s checkpoint, verifies its signature and that it extends the last one that was seen, adds its own signature with the time, and stores the note. Run it where the operators of the server have no access.',
    'The first check pins the key of the log, unless --key names it. A --key that differs from the pinned one replaces it, and the records must still be those that were seen.',
    'If the log was rolled back, has different records, is signed wrongly or names another key, it raises an alarm on stderr, stores both notes in files, and ends with the exit status 3. A server that can’t be reached is reported but is not an alarm; with --once the exit status is then 1.',
    'With cstp witness serve, logs submit their checkpoints to the witness instead.',
    'In the folder of the log, latest.note is the newest note with both signatures, checkpoints/ has one for each size that was seen, and witness.pub is the verifier key of the witness: what an auditor needs to verify a bundle.',
  ],
  flags: {
    key: value('key', 'Verifier key of the log, or a file that contains it.'),
    ...witnessFlags,
    state: value('folder', 'Folder for stored checkpoints; by default witness/ in the data directory.'),
    once: toggle('Check once and end.'),
    interval: value('time', 'Time between checks, such as 60s or 5m; by default 60s.'),
  },
  examples: [
    ['cstp witness https://cstp.example.com', 'check every minute, until an alarm or Ctrl-C'],
    [
      'cstp witness https://cstp.example.com --once --key evidence.pub',
      'from a timer, with the key that the operator gave',
    ],
  ],
  async run({ flags, words, terminal, json, configuration, signal }) {
    const url = urlOf(words[0]!)
    if (flags.once && flags.interval !== undefined) throw misuse('--once and --interval exclude each other')
    const interval_ms = intervalOf(flags.interval ?? '60s')
    const { data_dir } = (await configuration()).settings
    const key = flags.key === undefined ? null : await readVerifier(flags.key)
    const own = await openWitness({
      state_dir: resolve(flags.state ?? join(data_dir, 'witness')),
      key_path: flags['witness-key'] && resolve(flags['witness-key']),
      name: flags.name,
    })
    while (!signal.aborted) {
      try {
        const seen = await lookAt(own, url, key, signal)
        const { status, size, root_hash, note_path } = seen
        const at = new Date().toISOString()
        const line = `${at} ${status}: ${size} records, root ${root_hash.slice(0, 16)}…  ${note_path}\n`
        await terminal.out(json ? jsonLine({ at, url, ...seen }) : line)
      } catch (error) {
        if (signal.aborted) break
        if (error instanceof Alarm) {
          showAlarm(error, url, json, terminal)
          return alarmStatus
        }
        if (!(error instanceof Unreachable)) throw error
        if (flags.once) throw new Failure(`the log can't be reached: ${error.message}`)
        const line = { unreachable: error.message, url }
        terminal.note(json ? jsonLine(line) : `${terminal.notePaint.yellow('not reached:')} ${plain(error.message)}\n`)
      }
      if (flags.once) return 0
      await setTimeout(interval_ms, undefined, { signal }).catch(() => {})
    }
  },
})

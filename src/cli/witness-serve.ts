/** cstp witness serve: cosigns checkpoints submitted by other logs. */
import { join, resolve } from 'node:path'
import { serveWitness } from '../transparency/open.ts'
import { aborted, defineCommand, value } from './command.ts'
import { misuse } from './failure.ts'
import { jsonLine, plain } from './terminal.ts'
import { openPolicy } from './verify-policy.ts'

const defaultAddress = '127.0.0.1:9992'

/** Parses `host:port` or `[v6]:port`. */
function addressOf(given: string): { host: string; port: number } {
  const [, v6, name, digits] = /^(?:\[([0-9a-f:.]+)\]|([^[\]:]+)):(\d{1,5})$/i.exec(given) ?? []
  const port = Number(digits)
  if (digits === undefined || port > 65_535)
    throw misuse(`--listen needs host:port, such as ${defaultAddress}; received ${JSON.stringify(given)}`)
  return { host: (v6 ?? name)!, port }
}

/** Flags of both ways to be a witness. */
export const witnessFlags = {
  'witness-key': value(
    'file',
    'Ed25519 key of the witness, PKCS#8 in PEM, created if there is none; by default in the state folder.',
  ),
  name: value('name', 'Name of the witness in its signatures; by default from its key.'),
} as const

export const witnessServe = defineCommand({
  name: 'witness serve',
  usage: '--logs <file>',
  summary: 'Cosign the checkpoints that logs submit.',
  about: [
    'Answers the C2SP tlog-witness protocol: POST /add-checkpoint cosigns a checkpoint that a known log signed and that provably extends the one that was cosigned before, and GET /<SHA-256 of the origin>/checkpoint shows monitors the latest. Any log of that protocol can use it, not only those of cstp.',
    'The logs are those of a C2SP tlog-policy file: lines "log <key>"; its quorum line is not used, so write "quorum none". A log that forked or was rolled back is refused with 422, with 409 if it has another root at the same size, and reported on stderr.',
    'Each cosigned checkpoint is written to disk before the response is sent, in logs.db of the state folder. Do not lose that file or restore an old copy of it: in that case use a new key. The folder has the key of the witness too (witness.pem; witness.pub is for policies of others), so give each witness its own folder.',
  ],
  flags: {
    logs: value('file', 'Policy file that names the logs.'),
    listen: value('host:port', `Address to listen on; by default ${defaultAddress}.`),
    ...witnessFlags,
    state: value('folder', 'Folder for cosigned checkpoints; by default witness-serve/ in the data directory.'),
  },
  examples: [
    ['cstp witness serve --logs logs.txt --name witness.example.com/1', 'behind a reverse proxy on the same machine'],
  ],
  async run({ flags, terminal, json, configuration, signal }) {
    if (flags.logs === undefined) throw misuse('--logs is missing: a policy file with a line "log <key>" for each log')
    const { logs } = await openPolicy('logs', flags.logs)
    if (logs.length === 0) throw misuse(`--logs: ${flags.logs} names no log`)
    const { data_dir } = (await configuration()).settings
    const serving = await serveWitness({
      ...addressOf(flags.listen ?? defaultAddress),
      state_dir: resolve(flags.state ?? join(data_dir, 'witness-serve')),
      key_path: flags['witness-key'] && resolve(flags['witness-key']),
      name: flags.name,
      logs: logs.map(({ key }) => key.text),
      handled: ({ status, origin, size, message }) => {
        const at = new Date().toISOString()
        const line = `${at} ${status} ${plain(origin ?? '-')} ${size ?? '-'}: ${plain(message)}\n`
        terminal.note(json ? jsonLine({ at, status, origin, size, message }) : line)
      },
    })
    const { url, verifier_key } = serving
    const text = `witness answers at ${url}/add-checkpoint for ${logs.length} logs\n${verifier_key}\nCtrl-C stops it.\n`
    await terminal.out(json ? jsonLine({ url, verifier_key, logs: logs.length, pid: process.pid }) : text)
    await aborted(signal)
    await serving.stop()
  },
})

/** cstp migrate: everything from a data directory to PostgreSQL, or back. */
import { defineCommand } from './command.ts'
import { Failure, misuse } from './failure.ts'
import { openProgress, prettyJson } from './terminal.ts'

/** A place, or the name of the variable that holds it: what stands on a command line everybody can see. */
function placeOf(flag: string, given: string | undefined, env: Record<string, string | undefined>): string {
  if (given === undefined || given === '') throw misuse(`${flag} needs a data directory, an address, or env:<variable>`)
  if (!given.startsWith('env:')) return given
  const found = env[given.slice(4)]
  if (!found) throw new Failure(`the variable ${given.slice(4)} of ${flag} is not set`)
  return found
}

export const migrate = defineCommand({
  name: 'migrate',
  usage: '--from <place> --to <place>',
  summary: 'Move everything from a data directory to PostgreSQL, or back.',
  about: [
    'Decisions with their links, vectors, deliberation, circuit breakers, audit trail, kept results and evidence with its checkpoints are copied to a place that is empty, then both sides are compared by counts and hashes. Nothing is taken from the source. Stop its servers first.',
    'A run that was cut off goes on where it was when the same command is given again. A target that holds anything else is refused.',
    'Not copied are token, keys, bundles and rules: give the new servers the key that signed before in CSTP_EVIDENCE_KEY (keys/evidence.pem of the data directory). Decisions without vectors get theirs once a server runs.',
  ],
  flags: {
    from: {
      kind: 'value',
      value: 'place',
      about: 'Data directory, postgres:// address, or env:<variable> that holds it.',
    },
    to: { kind: 'value', value: 'place', about: 'The same, of where everything goes.' },
  },
  words: [0, 0],
  examples: [
    ['cstp migrate --from ~/.cstp --to env:CSTP_STORE_URL', 'to many servers, with the password in a variable'],
    ['cstp migrate --from env:CSTP_STORE_URL --to ./data', 'back to one'],
  ],
  async run({ flags, terminal, json, env, signal }) {
    const [from, to] = [placeOf('--from', flags.from, env), placeOf('--to', flags.to, env)]
    const { migrate } = await import('../app/migrate/migrate.ts')
    const bar = openProgress(terminal)
    try {
      const progress = (kind: string, done: number) => bar.show(null, `${done} ${kind}`)
      const digest = await migrate({ from, to, now_ms: Date.now(), signal, progress })
      bar.end()
      const { decisions, vectors, audit_lines, evidence_records } = digest
      await terminal.out(
        json
          ? prettyJson(digest)
          : `${decisions} decisions, ${vectors} with vectors, ${audit_lines} audit lines and ${evidence_records} evidence records; both sides are equal\n`,
      )
      return 0
    } finally {
      bar.end()
    }
  },
})

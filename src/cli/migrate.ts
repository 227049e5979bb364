/** cstp migrate: moves everything from a data directory to PostgreSQL, or back. */
import { defineCommand, value } from './command.ts'
import { Failure, misuse } from './failure.ts'
import { print, withProgress } from './terminal.ts'

/** A place, or the environment variable that contains it, since other users can see command lines. */
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
  summary: 'Copy everything from a data directory to PostgreSQL, or back.',
  about: [
    'Copies decisions with their links, vectors, deliberation, circuit breakers, approvals with their notices, archived rules, audit trail, stored results and evidence with its checkpoints to a place that is empty, then compares both sides by counts and hashes. The source is not changed. Stop its servers first.',
    'After an interruption the same command continues where it stopped. A target that has anything else is refused.',
    'Token, keys, bundles and rules are not copied: give the new servers the previous signing key in CSTP_EVIDENCE_KEY (keys/evidence.pem of the data directory). A running server embeds decisions without vectors.',
  ],
  flags: {
    from: value('place', 'Data directory, postgres:// address, or env:<variable> that contains it.'),
    to: value('place', 'The same for the target.'),
  },
  examples: [
    ['cstp migrate --from ~/.cstp --to env:CSTP_STORE_URL', 'to many servers, with the password in a variable'],
    ['cstp migrate --from env:CSTP_STORE_URL --to ./data', 'back to one'],
  ],
  async run({ flags, terminal, json, env, configuration, signal }) {
    const [from, to] = [placeOf('--from', flags.from, env), placeOf('--to', flags.to, env)]
    const { refuseForeignFiles } = await import('../app/own-drivers.ts')
    // Servers that share a database need settings that a migration does without: those that are invalid are no obstacle to it.
    const { drivers } = await configuration().then(
      ({ settings }) => settings,
      () => ({ drivers: [] }),
    )
    await refuseForeignFiles(
      { drivers },
      "can't migrate them: unset CSTP_DRIVERS to copy between data directories and PostgreSQL",
    )
    const { migrate } = await import('../app/migrate/migrate.ts')
    const digest = await withProgress(terminal, (bar) =>
      migrate({ from, to, now_ms: Date.now(), signal, progress: (kind, done) => bar.show(null, `${done} ${kind}`) }),
    )
    const { decisions, vectors, audit_lines, evidence_records } = digest
    await print(
      { json, terminal },
      digest,
      () =>
        `${decisions} decisions, ${vectors} with vectors, ${audit_lines} audit entries and ${evidence_records} evidence records; both sides are equal\n`,
    )
  },
})

/** cstp verify: checks an evidence bundle offline. */
import { defineCommand } from './command.ts'

export const verify = defineCommand({
  name: 'verify',
  usage: '<bundle.json> [flags]',
  summary: 'Check an evidence bundle, without a server.',
  about: [
    'Walks every event of the bundle, works out the hashes, the Merkle root, the mappings and the coverage again, and checks the signature of the checkpoint. It needs the file alone: no server, no database, no network.',
    'With nothing but the file it can say that the bundle is whole, not who made it. Give the log’s key, which /.well-known/cstp-evidence-key shows and which should have reached you on another way, with --key; the key of a witness with --witness, and the checkpoint that it cosigned and keeps with --note; and a bundle that you kept from earlier with --against, so that a history that was rewritten or cut off shows.',
    'The exit status is 0 where everything holds, 1 where something is wrong, and 2 where the command could not be understood.',
  ],
  flags: {
    key: { kind: 'value', value: 'key', about: 'Key of the log (name+hash+base64), or a file that holds it.' },
    witness: { kind: 'value', value: 'key', about: 'Key of a witness, or a file that holds it.' },
    note: {
      kind: 'value',
      value: 'file',
      about:
        'Checkpoint that the witness keeps (its latest.note, or one of checkpoints/); by default the one in the bundle.',
    },
    against: { kind: 'value', value: 'file', about: 'An older bundle of the same log.' },
  },
  words: [1, 1],
  examples: [
    ['cstp verify evidence.json --key log.key', 'is it whole, and did this log make it?'],
    ['cstp verify evidence.json --witness witness.pub --note latest.note', 'is it what the witness saw?'],
    ['cstp verify new.json --against old.json', 'was anything rewritten or cut off since?'],
    ['cstp verify evidence.json --json', 'the report for a program'],
  ],
  run: async (run) => (await import('./verify-run.ts')).runVerify(run),
})

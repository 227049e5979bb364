/** cstp verify: checks evidence bundles, dossiers, receipts and exported logs offline. */
import { defineCommand, list, value } from './command.ts'

export const verify = defineCommand({
  name: 'verify',
  usage: '<bundle.json | dossier.json | receipt.json | folder>',
  summary: 'Verify an evidence bundle, a dossier, a receipt or an exported log, without a server.',
  about: [
    'Reads every event of the bundle, recomputes the hashes, the Merkle root, the mappings and the coverage, and verifies the signatures of the checkpoint and of the whole bundle. It needs only the file: no server, no database, no network.',
    'The file alone proves that the bundle is intact, not who made it. For that, give the key of the log with --key (it is at /.well-known/cstp-evidence-key, but get it over another channel); the key of a witness with --witness, and the checkpoint that it cosigned with --note; and an older bundle with --against, which reveals a history that was rewritten or truncated, and a linked decision that was changed.',
    'For a dossier (cstp dossier) it recomputes the digests, the score and the hash of the rules, verifies the proof of each event against the checkpoint, and verifies every signature, with --key and --witness as for a bundle.',
    'For a receipt (the result of cstp.getReceipt) it computes the log entry from payload and salt, and verifies its proof against the checkpoint. For a folder written by cstp log export it computes every tile and the root from the entries. Both need --policy, a C2SP tlog-policy file that names logs, witnesses and the quorum; or --key, with or without --witness.',
    'Control rules that this version of cstp does not ship are reported as not proved, unless their files are given with --rules.',
    'The exit status is 0 if everything is valid, 1 if something is wrong, and 2 if the command line is invalid.',
  ],
  flags: {
    key: value('key', 'Key of the log (name+hash+base64), or a file that contains it.'),
    witness: value('key', 'Key of a witness, or a file that contains it.'),
    note: value(
      'file',
      'Checkpoint that the witness cosigned (its latest.note, or one of checkpoints/); by default the one in the bundle.',
    ),
    policy: value(
      'file',
      'For receipts and logs: the logs and witnesses that you trust, and how many witnesses must cosign.',
    ),
    rules: list(
      'file',
      'Files of control rules that you trust, in addition to those that ship with this version of cstp; or their digests.',
    ),
    against: value('file', 'An older bundle of the same log.'),
  },
  examples: [
    ['cstp verify evidence.json --key evidence.pub', 'is it intact, and did this log make it?'],
    ['cstp verify evidence.json --witness witness.pub --note latest.note', 'is it what the witness saw?'],
    ['cstp verify new.json --against old.json', 'was anything rewritten or truncated since?'],
    ['cstp verify dossier.json --key evidence.pub', 'is everything on one decision as this log signed it?'],
    ['cstp verify receipt.json --policy witnesses.txt', 'is the act in the log, and did enough witnesses see it?'],
    ['cstp verify ./log --key log.key', 'does an exported log give its checkpoint?'],
    ['cstp verify evidence.json --json', 'the report for a program'],
  ],
  run: async (run) => (await import('./verify-run.ts')).runVerify(run),
})

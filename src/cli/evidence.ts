/** cstp evidence: checkpoints and proofs of the evidence log. */
import { checkpointHolds, consistencyHolds, inclusionHolds, tlogProof } from '../transparency/check.ts'
import { wholeOf } from './args.ts'
import { defineCommand, type Run, toggle, value } from './command.ts'
import { type Connection, connectionFlags, printCall, type Result, withConnection } from './connection.ts'
import { Failure, misuse } from './failure.ts'
import { openLog, plain, print, type Terminal } from './terminal.ts'

const listed = (hashes: readonly string[]): string[] => hashes.map((hash, at) => `  ${String(at).padStart(2)}  ${hash}`)

/** A proof of one record says nothing about the others, so the whole chain is verified too. */
async function prove(connection: Connection, seq: number, size: number | undefined, asTlogProof: boolean) {
  const proof = await connection.call('getInclusionProof', { seq, ...(size !== undefined && { size }) })
  const { verifier_key } = await connection.call('getCheckpoint', { max_age_seconds: 60 })
  if (!inclusionHolds(proof, verifier_key, { seq, size })) throw new Failure('the proof of the server is not valid')
  const { intact, broken_at_seq, reason } = await connection.call('verifyEvidenceChain', {})
  const where = broken_at_seq === null ? '' : ` at record ${broken_at_seq}`
  const chain = intact ? 'intact, says the server' : `damaged${where}: ${plain(reason ?? '')}`
  const result = { proof: { ...proof, chain: { intact, broken_at_seq, reason } }, intact, chain }
  const { index, record_hash, root_hash, hashes, checkpoint } = proof
  if (asTlogProof) {
    if (checkpoint === null) throw misuse('--tlog-proof has its own checkpoint: leave --size out')
    return { ...result, text: tlogProof({ index, hashes, checkpoint }) }
  }
  const lines = [
    `record ${seq} is in the log of ${proof.size} records; verified here`,
    `record  ${record_hash}`,
    `root    ${root_hash}`,
    `chain   ${chain}`,
    `path    ${hashes.length === 0 ? 'none: it is the only record' : `${hashes.length} hashes`}`,
    ...listed(hashes),
  ]
  return { ...result, text: `${lines.join('\n')}\n${checkpoint === null ? '' : `\n${checkpoint}`}` }
}

async function consistency(connection: Connection, old: number, size: number | undefined) {
  const proof = await connection.call('getConsistencyProof', { old, ...(size !== undefined && { new: size }) })
  if (!consistencyHolds(proof, { old, new: size })) throw new Failure('the proof of the server is not valid')
  const lines = [
    `the log of ${proof.new} records begins with the first ${proof.old}; verified here`,
    `old root  ${proof.old_root}`,
    `new root  ${proof.new_root}`,
    `path      ${proof.hashes.length} hashes`,
    ...listed(proof.hashes),
  ]
  return { proof, text: `${lines.join('\n')}\n` }
}

function verdict(found: Result<'verifyEvidenceChain'>, { paint }: Terminal): string {
  const { intact, broken_at_seq, records, head_hash, tail_check, reason } = found
  const where = broken_at_seq === null ? '' : ` at record ${broken_at_seq}`
  const head = intact
    ? paint.green(`the chain of ${records} records is intact`)
    : paint.red(`the chain is broken${where}`)
  const tail = tail_check ? 'checked' : 'not checked: there is no head to compare it with'
  return [head, ...(reason ? [plain(reason)] : []), `head  ${head_hash}`, `end   ${tail}`, ''].join('\n')
}

const size = value('n', 'Size of the checkpoint to prove against; by default that of a new checkpoint.')

/** The current signed checkpoint. @throws Failure if its signature is not valid for the log */
async function signed(run: Run<typeof connectionFlags>): Promise<Result<'getCheckpoint'>> {
  const result = await withConnection(run, ({ call }) => call('getCheckpoint', {}))
  if (!checkpointHolds(result.note, result.verifier_key)) throw new Failure('the checkpoint of the server is not valid')
  return result
}

async function newKey(run: Run): Promise<number> {
  const configuration = await run.configuration()
  const { adoptKey } = await import('../app/evidence.ts')
  const { before, signer } = await adoptKey(configuration.settings, openLog(configuration, { quiet: true }))
  const { name: origin, verifier_key } = signer
  const result = { former_origin: before.origin, origin, verifier_key, records: before.records }
  const signed = before.origin === null ? 'was not signed before' : `was signed by ${before.origin}`
  await print(
    run,
    result,
    () => `${origin} signs the log of ${before.records} records, which ${signed}\n${verifier_key}\n`,
  )
  return 0
}

const verbs = [
  defineCommand({
    name: 'evidence checkpoint',
    summary: 'Print a signed checkpoint: the current state of the log in three lines, and the signature.',
    about: ['Keep it: a later log must begin with this one.'],
    flags: connectionFlags,
    examples: [['cstp evidence checkpoint > today.note', 'keep the current state of the log']],
    async run(run) {
      const result = await signed(run)
      await print(run, result, () => result.note)
    },
  }),
  defineCommand({
    name: 'evidence prove',
    usage: '<seq>',
    summary: 'Prove that a record is in the log.',
    about: [
      'The proof is verified locally before it is printed. The server also verifies the whole chain: the exit status is 1 if another record is damaged.',
    ],
    flags: {
      size,
      'tlog-proof': toggle('Print the proof in the C2SP tlog-proof form.'),
      ...connectionFlags,
    },
    examples: [
      ['cstp evidence prove 42', 'that record 42 is part of it'],
      ['cstp evidence prove 42 --tlog-proof > 42.tlog-proof', 'the same for other tools'],
    ],
    async run(run) {
      const seq = wholeOf('the record', run.words[0]!)
      const at = run.flags.size === undefined ? undefined : wholeOf('--size', run.flags.size)
      const { proof, text, intact, chain } = await withConnection(run, (to) =>
        prove(to, seq, at, run.flags['tlog-proof']),
      )
      await print(run, proof, () => text)
      if (!intact) throw new Failure(`the record is in the log, but the chain is ${chain}`)
    },
  }),
  defineCommand({
    name: 'evidence consistency',
    usage: '<old> [new]',
    summary: 'Prove that the log of one size extends that of a smaller size.',
    about: ['The proof is verified locally before it is printed. By default, the new size is the current one.'],
    flags: connectionFlags,
    examples: [['cstp evidence consistency 100', 'that the first 100 records are still the same']],
    async run(run) {
      const [old, now] = run.words
      const sizes = [wholeOf('old', old!), now === undefined ? undefined : wholeOf('new', now)] as const
      const { proof, text } = await withConnection(run, (to) => consistency(to, ...sizes))
      await print(run, proof, () => text)
    },
  }),
  defineCommand({
    name: 'evidence verify',
    summary: 'Make the server verify the whole chain.',
    about: ['The exit status is 1 if it is broken.'],
    flags: {
      'expected-head': value('hash', 'Hash that must be in the chain.'),
      ...connectionFlags,
    },
    examples: [['cstp evidence verify --expected-head 9f2c…', 'that what you saw is still there']],
    async run(run) {
      const expected = run.flags['expected-head']
      const params = expected === undefined ? {} : { expected_head_hash: expected }
      const text = (found: Result<'verifyEvidenceChain'>) => verdict(found, run.terminal)
      const { intact } = await printCall(run, 'verifyEvidenceChain', params, text)
      return intact ? 0 : 1
    },
  }),
  defineCommand({
    name: 'evidence key',
    summary: 'Print the verifier key of the checkpoints.',
    about: ['Anyone can use it to check the signature of a checkpoint without the server.'],
    flags: connectionFlags,
    examples: [['cstp evidence key > evidence.pub', 'for a witness or an auditor']],
    async run(run) {
      const { verifier_key } = await signed(run)
      await print(run, { verifier_key }, () => `${verifier_key}\n`)
    },
  }),
  defineCommand({
    name: 'evidence new-key',
    summary: 'Sign the log with another key from now on.',
    about: [
      'The new key is that of CSTP_EVIDENCE_KEY, else that in the data directory, which is created if it is missing. Use it only if the key is lost or no longer secret: a server starts only with the key that signed last.',
      'Stop the servers, run it on the machine of the data directory, and give every witness the verifier key that it prints. The records stay, and the audit trail records the change.',
    ],
    examples: [['cstp evidence new-key', 'after the key was lost']],
    run: newKey,
  }),
]

export const evidence = defineCommand({
  name: 'evidence',
  summary: 'Checkpoints, proofs and verification of the evidence log.',
  about: ['cstp witness does all of this repeatedly, from outside.'],
  verbs,
  examples: [['cstp help evidence prove', 'what one of them does']],
})

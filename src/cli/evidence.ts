/** cstp evidence: checkpoints and proofs of the evidence log. */
import { checkpointHolds, consistencyHolds, inclusionHolds, tlogProof } from '../transparency/check.ts'
import { defineCommand, type Run } from './command.ts'
import { type Connection, connectionFlags, type Result, withConnection } from './connection.ts'
import { Failure, misuse } from './failure.ts'
import { openLog, plain, print, type Terminal } from './terminal.ts'

const flags = {
  size: { kind: 'value', value: 'n', about: 'prove: size of the checkpoint that you have; by default a new one.' },
  'tlog-proof': { kind: 'switch', about: 'prove: print the proof in the C2SP tlog-proof form.' },
  'expected-head': { kind: 'value', value: 'hash', about: 'verify: hash that must be in the chain.' },
  ...connectionFlags,
} as const

/** Arguments of a verb: least and most. */
const verbs: Record<string, [least: number, most: number]> = {
  checkpoint: [0, 0],
  prove: [1, 1],
  consistency: [1, 2],
  verify: [0, 0],
  key: [0, 0],
  'new-key': [0, 0],
}

/** A number of records. @throws Failure if it is not a number */
function countOf(name: string, given: string): number {
  const count = Number(given)
  if (!/^\d+$/.test(given) || !Number.isSafeInteger(count))
    throw misuse(`${name} needs a whole number, received ${JSON.stringify(given)}`)
  return count
}

const listed = (hashes: readonly string[]): string[] => hashes.map((hash, at) => `  ${String(at).padStart(2)}  ${hash}`)

async function prove(connection: Connection, seq: number, size: number | undefined, asTlogProof: boolean) {
  const proof = await connection.call('getInclusionProof', { seq, ...(size !== undefined && { size }) })
  const { verifier_key } = await connection.call('getCheckpoint', { max_age_seconds: 60 })
  if (!inclusionHolds(proof, verifier_key, { seq, size })) throw new Failure('the proof of the server is not valid')
  const { record_hash, root_hash, hashes, checkpoint } = proof
  if (asTlogProof) {
    if (checkpoint === null) throw misuse('--tlog-proof has its own checkpoint: leave --size out')
    return { proof, text: tlogProof({ seq, hashes, checkpoint }) }
  }
  const lines = [
    `record ${seq} is in the log of ${proof.size} records; verified here`,
    `record  ${record_hash}`,
    `root    ${root_hash}`,
    `path    ${hashes.length === 0 ? 'none: it is the only record' : `${hashes.length} hashes`}`,
    ...listed(hashes),
  ]
  return { proof, text: `${lines.join('\n')}\n${checkpoint === null ? '' : `\n${checkpoint}`}` }
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

async function newKey(run: Run<typeof flags>): Promise<number> {
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

export const evidence = defineCommand({
  name: 'evidence',
  usage: 'checkpoint | prove <seq> | consistency <old> [new] | verify | key | new-key [flags]',
  summary: 'Checkpoints and proofs of the evidence log, and whether its chain is intact.',
  about: [
    'checkpoint prints a signed checkpoint: the current state of the log in three lines, and the signature. Keep it: a later log must begin with this one.',
    'prove shows that a record is in the log, consistency that the log of one size begins with that of a smaller one. Both proofs are verified here before they are printed.',
    'verify makes the server verify the whole chain; the exit status is 1 if it is broken. key prints the verifier key of the checkpoints.',
    'new-key lets another key sign the log from now on: that of CSTP_EVIDENCE_KEY, else that in the data directory, which is created if it was lost. Only for a key that is lost or no longer secret: a server does not start with another key than the one that signed last. Stop the servers, run it on the machine of the data directory, and give every witness the verifier key that it prints. The records stay, the audit trail keeps the change.',
    'cstp witness does all of this repeatedly, from outside.',
  ],
  flags,
  words: [1, 3],
  examples: [
    ['cstp evidence checkpoint > today.note', 'keep the current state of the log'],
    ['cstp evidence prove 42', 'that record 42 is part of it'],
    ['cstp evidence prove 42 --tlog-proof > 42.tlog-proof', 'the same for other tools'],
    ['cstp evidence consistency 100', 'that the first 100 records are still the same'],
  ],
  async run(run) {
    const given = run.flags
    const [verb = '', ...rest] = run.words
    const bounds = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined
    if (!bounds)
      throw misuse(`${JSON.stringify(verb)} is not one of ${Object.keys(verbs).join(', ')}; see cstp help evidence`)
    if (rest.length < bounds[0] || rest.length > bounds[1])
      throw misuse(`evidence ${verb} takes ${bounds[1] === 0 ? 'no' : 'other'} arguments; see cstp help evidence`)
    const numbers = rest.map((word, at) => countOf(verb === 'prove' ? 'the record' : at === 0 ? 'old' : 'new', word))
    const size = given.size === undefined ? undefined : countOf('--size', given.size)
    if (verb === 'new-key') return newKey(run)
    return withConnection(run, async (connection) => {
      switch (verb) {
        case 'prove': {
          const { proof, text } = await prove(connection, numbers[0]!, size, given['tlog-proof'])
          await print(run, proof, () => text)
          return 0
        }
        case 'consistency': {
          const { proof, text } = await consistency(connection, numbers[0]!, numbers[1])
          await print(run, proof, () => text)
          return 0
        }
        case 'verify': {
          const expected = given['expected-head']
          const params = expected === undefined ? {} : { expected_head_hash: expected }
          const result = await connection.call('verifyEvidenceChain', params)
          await print(run, result, () => verdict(result, run.terminal))
          return result.intact ? 0 : 1
        }
        default: {
          const result = await connection.call('getCheckpoint', {})
          const { verifier_key, note } = result
          if (!checkpointHolds(note, verifier_key)) throw new Failure('the checkpoint of the server is not valid')
          if (verb === 'key') await print(run, { verifier_key }, () => `${verifier_key}\n`)
          else await print(run, result, () => note)
          return 0
        }
      }
    })
  },
})

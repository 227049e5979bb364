/** cstp evidence: checkpoints and proofs of the evidence log. */
import { checkpointHolds, consistencyHolds, inclusionHolds, tlogProof } from '../transparency/judge.ts'
import { defineCommand } from './command.ts'
import type { Connection, Result } from './connection.ts'
import { connectionFlags, openConnection } from './connection.ts'
import { Failure, misuse } from './failure.ts'
import { plain, prettyJson, type Terminal } from './terminal.ts'

const flags = {
  size: { kind: 'value', value: 'n', about: 'prove: size of the checkpoint that you hold; by default a new one.' },
  'tlog-proof': { kind: 'switch', about: 'prove: print the proof in the C2SP tlog-proof form.' },
  'expected-head': { kind: 'value', value: 'hash', about: 'verify: hash that must stand in the chain.' },
  ...connectionFlags,
} as const

/** Words that follow a verb: least and most. */
const verbs: Record<string, [least: number, most: number]> = {
  checkpoint: [0, 0],
  prove: [1, 1],
  consistency: [1, 2],
  verify: [0, 0],
  key: [0, 0],
}

/** A number of records. @throws Failure where it is none */
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
  if (!inclusionHolds(proof, verifier_key, { seq, size })) throw new Failure('the proof of the server does not hold')
  const { record_hash, root_hash, hashes, checkpoint } = proof
  if (asTlogProof) {
    if (checkpoint === null) throw misuse('--tlog-proof carries a checkpoint of its own: leave --size out')
    return { proof, text: tlogProof({ seq, hashes, checkpoint }) }
  }
  const lines = [
    `record ${seq} stands in the log of ${proof.size} records; checked here`,
    `record  ${record_hash}`,
    `root    ${root_hash}`,
    `path    ${hashes.length === 0 ? 'none: it is the only record' : `${hashes.length} hashes`}`,
    ...listed(hashes),
  ]
  return { proof, text: `${lines.join('\n')}\n${checkpoint === null ? '' : `\n${checkpoint}`}` }
}

async function consistency(connection: Connection, old: number, size: number | undefined) {
  const proof = await connection.call('getConsistencyProof', { old, ...(size !== undefined && { new: size }) })
  if (!consistencyHolds(proof, { old, new: size })) throw new Failure('the proof of the server does not hold')
  const lines = [
    `the log of ${proof.new} records begins with the ${proof.old} that it had; checked here`,
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
  const tail = tail_check ? 'checked' : 'not checked: there is no head to compare with'
  return [head, ...(reason ? [plain(reason)] : []), `head  ${head_hash}`, `end   ${tail}`, ''].join('\n')
}

export const evidence = defineCommand({
  name: 'evidence',
  usage: 'checkpoint | prove <seq> | consistency <old> [new] | verify | key [flags]',
  summary: 'Checkpoints and proofs of the evidence log, and whether its chain is intact.',
  about: [
    'checkpoint prints a signed checkpoint: what the log is now, in three lines, and who says so. Keep it, and a later log must begin with this one.',
    'prove shows that a record stands in the log, consistency that the log of one size begins with that of a smaller one. Both proofs are checked here before they are printed.',
    'verify has the server walk the whole chain; the exit status is 1 where it is broken. key prints the verifier key that checkpoints are checked with.',
    'cstp witness does all of this again and again, from outside.',
  ],
  flags,
  words: [1, 3],
  examples: [
    ['cstp evidence checkpoint > today.note', 'keep what the log says now'],
    ['cstp evidence prove 42', 'that record 42 is part of it'],
    ['cstp evidence prove 42 --tlog-proof > 42.tlog-proof', 'the same for other tools'],
    ['cstp evidence consistency 100', 'that the first 100 records are still the same'],
  ],
  async run(run) {
    const { words, json, terminal, flags: given } = run
    const [verb = '', ...rest] = words
    const bounds = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined
    if (!bounds) throw misuse(`${JSON.stringify(verb)} is none of ${Object.keys(verbs).join(', ')}; cstp help evidence`)
    if (rest.length < bounds[0] || rest.length > bounds[1])
      throw misuse(`evidence ${verb} takes ${bounds[1] === 0 ? 'nothing more' : 'other words'}; cstp help evidence`)
    const numbers = rest.map((word, at) => countOf(verb === 'prove' ? 'the record' : at === 0 ? 'old' : 'new', word))
    const size = given.size === undefined ? undefined : countOf('--size', given.size)
    const connection = await openConnection(run, { signal: run.signal })
    try {
      const print = async (result: unknown, text: string) => terminal.out(json ? prettyJson(result) : text)
      switch (verb) {
        case 'prove': {
          const { proof, text } = await prove(connection, numbers[0]!, size, given['tlog-proof'])
          await print(proof, text)
          return 0
        }
        case 'consistency': {
          const { proof, text } = await consistency(connection, numbers[0]!, numbers[1])
          await print(proof, text)
          return 0
        }
        case 'verify': {
          const expected = given['expected-head']
          const params = expected === undefined ? {} : { expected_head_hash: expected }
          const result = await connection.call('verifyEvidenceChain', params)
          await print(result, verdict(result, terminal))
          return result.intact ? 0 : 1
        }
        default: {
          const result = await connection.call('getCheckpoint', {})
          const { verifier_key, note } = result
          if (!checkpointHolds(note, verifier_key)) throw new Failure('the checkpoint of the server does not hold')
          if (verb === 'key') await print({ verifier_key }, `${verifier_key}\n`)
          else await print(result, note)
          return 0
        }
      }
    } finally {
      await connection.close()
    }
  },
})

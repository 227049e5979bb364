/** Notes, verifier keys, cosignatures and checkpoints: the specifications' examples, round trips, and all that is refused. */
import { describe, expect, test } from 'bun:test'
import { generateKeyPairSync, sign } from 'node:crypto'
import { checkpointText, parseCheckpoint } from '../../../../src/domain/ledger/engine/checkpoints.ts'
import {
  cosign,
  fingerprint,
  NoteError,
  openNote,
  parseNote,
  parseVerifier,
  signerOf,
  verifierOf,
} from '../../../../src/domain/ledger/engine/note.ts'
import * as fc from '../../../support/property.ts'

const newKey = () => generateKeyPairSync('ed25519').privateKey
const refused = (work: () => unknown): string => {
  try {
    work()
  } catch (error) {
    if (error instanceof NoteError) return error.message
    throw error
  }
  throw new Error('it was not refused')
}

/** C2SP signed-note, "Example". */
const specified = {
  key: 'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k',
  note: 'This is an example message.\n\n— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n',
}
/** C2SP tlog-cosignature, its example of a checkpoint with two signatures. */
const cosignedCheckpoint = `example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
— witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==
`

describe('the specifications', () => {
  test('the example of a note opens with its key', () => {
    const { text, verified } = openNote(specified.note, [parseVerifier(specified.key)])
    expect(text).toBe('This is an example message.\n')
    expect(verified).toEqual([{ verifier: parseVerifier(specified.key), timestamp: null }])
    expect(parseVerifier(specified.key).text).toBe(specified.key)
  })

  test('the example of a cosigned checkpoint is read as it is meant', () => {
    const { text, signatures } = parseNote(cosignedCheckpoint)
    expect(signatures.map(({ name, bytes }) => [name, bytes.length])).toEqual([
      ['example.com/behind-the-sofa', 64],
      ['witness.example.com/w1', 72],
    ])
    expect(signatures[1]!.bytes.readBigUInt64BE()).toBe(1_679_315_147n)
    const checkpoint = parseCheckpoint(text)
    expect(checkpoint).toEqual({
      origin: 'example.com/behind-the-sofa',
      size: 20_852_163,
      root_hash: '0ac5186a91863e8e1d90c808014aa89bf5da8e3ee1d9f07630f0378f68f1ab62',
    })
    expect(checkpointText(checkpoint)).toBe(text)
  })

  test('a witness signs the header, the time and the text', () => {
    const key = newKey()
    const witness = verifierOf('witness.test/w', 'cosignature', key)
    const note = signerOf('log.test', newKey()).sign('log.test\n0\nx\n')
    const line = parseNote(cosign(note, witness, key, 1_679_315_147)).signatures[1]!
    const message = 'cosignature/v1\ntime 1679315147\nlog.test\n0\nx\n'
    expect(line.bytes.subarray(8)).toEqual(sign(null, Buffer.from(message), key))
    expect(witness.text.split('+')[1]).toBe(line.id)
  })
})

describe('signing', () => {
  const log = newKey()
  const signer = signerOf('log.test/a', log)
  const known = parseVerifier(signer.verifier_key)
  const text = 'one\n\ntwo — 三\n'
  const note = signer.sign(text)

  test('opens what it signed, blank lines in the text included', () => {
    expect(openNote(note, [known])).toMatchObject({ text, verified: [{ timestamp: null }] })
    expect(signer.sign(text)).toBe(note)
  })

  test('a note with the signatures of log and witness opens for both', () => {
    const key = newKey()
    const witness = verifierOf('w.test', 'cosignature', key)
    const both = cosign(note, witness, key, 1_700_000_000)
    expect(both.startsWith(note)).toBe(true)
    expect(openNote(both, [known, parseVerifier(witness.text)]).verified.map((one) => one.timestamp)).toEqual([
      null,
      1_700_000_000,
    ])
    // Each alone, the other being unknown.
    expect(openNote(both, [witness]).verified.length).toBe(1)
    expect(openNote(both, [known]).verified.length).toBe(1)
    const again = cosign(both, witness, key, 1_700_000_060)
    expect(openNote(again, [known, witness]).verified.map((one) => one.timestamp)).toEqual([null, 1_700_000_060])
  })

  test('one key is two verifiers: a signature of a log is no cosignature', () => {
    const asWitness = verifierOf('log.test/a', 'cosignature', log)
    expect(asWitness.id).not.toBe(known.id)
    expect(refused(() => openNote(note, [asWitness]))).toContain('expected a signature of log.test/a')
    const forged = note.replace(/— .*\n$/, () => {
      const bytes = parseNote(note).signatures[0]!.bytes
      const line = Buffer.concat([Buffer.from(asWitness.id, 'hex'), Buffer.alloc(8), bytes])
      return `— log.test/a ${line.toString('base64')}\n`
    })
    expect(refused(() => openNote(forged, [asWitness]))).toContain('does not match')
  })

  test('a change of text, signature or key is seen', () => {
    expect(refused(() => openNote(note.replace('two', 'tow'), [known]))).toContain('does not match')
    const other = signerOf('log.test/a', newKey())
    expect(refused(() => openNote(other.sign(text), [known]))).toContain('expected a signature')
    const [line] = parseNote(note).signatures
    // The key id of the known key over a signature of another one.
    const bytes = Buffer.concat([Buffer.from(known.id, 'hex'), parseNote(other.sign(text)).signatures[0]!.bytes])
    expect(refused(() => openNote(`${text}\n— log.test/a ${bytes.toString('base64')}\n`, [known]))).toContain(
      'does not match',
    )
    expect(refused(() => openNote(`${note}— log.test/a ${bytes.toString('base64')}\n`, [known]))).toContain(
      'does not match',
    )
    expect(line!.name).toBe('log.test/a')
  })

  test('any bit flipped in a note opens nothing', () => {
    const bytes = Buffer.from(note)
    fc.assert(
      fc.property(fc.nat(bytes.length * 8 - 1), (bit) => {
        const spoiled = Buffer.from(bytes)
        spoiled[bit >> 3]! ^= 1 << (bit & 7)
        expect(() => openNote(spoiled.toString('utf8'), [known])).toThrow(NoteError)
      }),
      { numRuns: 400 },
    )
  })

  test('any text is refused, or read back as it was', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (any) => {
        let signed: string
        try {
          signed = signer.sign(`${any}\n`)
        } catch (error) {
          expect(error).toBeInstanceOf(NoteError)
          return
        }
        expect(openNote(signed, [known]).text).toBe(`${any}\n`)
      }),
    )
  })
})

describe('an invalid note is refused', () => {
  const good = specified.note
  const [text, line] = good.split('\n\n') as [string, string]
  test.each([
    ['', 'newline'],
    ['text', 'newline'],
    ['text\n', 'empty line'],
    [`${text}\n\n`, 'signature lines'],
    [good.trimEnd(), 'newline'],
    [good.replace('—', '-'), 'signature lines'],
    [good.replace('— ', '—'), 'signature lines'],
    [good.replace('aQM=', 'aQM'), 'signature lines'],
    [good.replace('aQM=', 'aQN='), 'signature lines'],
    [good.replace('Uw2Q', 'Uw2-'), 'signature lines'],
    [`${text}\n\n— example.com/foo Uw2QOg==\n`, 'signature lines'],
    [good.replace('example.com/foo', 'exam+ple'), 'signature lines'],
    [good.replace('example.com/foo', 'exam\u00a0ple'), 'signature lines'],
    [good.replace('example.com/foo', ''), 'signature lines'],
    [`${good}\n`, 'signature lines'],
    [`${good}trailing\n`, 'signature lines'],
    [good.replace('This', 'Th\ris'), 'control'],
    [good.replace('This', 'Th\tis'), 'control'],
    [good.replace('This', 'Th\0is'), 'control'],
    [good.replace('This', 'Th\ud800is'), 'control'],
    [`${text}\n\n${line.repeat(101)}`, 'at most 100'],
    [`${'x'.repeat(300_000)}\n\n${line}`, 'at most'],
  ])('%#', (note, why) => {
    expect(refused(() => openNote(note, [parseVerifier(specified.key)]))).toContain(why)
  })

  test('a hundred signatures are not too many', () => {
    expect(openNote(`${text}\n\n${line.repeat(100)}`, [parseVerifier(specified.key)]).verified.length).toBe(100)
  })
})

describe('verifier keys', () => {
  test.each([
    '',
    'example.com/foo',
    specified.key.replace('530d903a', '530d903b'),
    specified.key.replace('530d903a', '530D903A'),
    specified.key.replace('example.com/foo', 'example.com/bar'),
    specified.key.replace('example.com/foo', ''),
    specified.key.replace('example.com/foo', 'exam ple'),
    specified.key.replace('Aeky', 'Auky'),
    specified.key.replace('Aeky', 'Beky'),
    specified.key.slice(0, -4),
    `${specified.key}AAAA`,
    `${specified.key}+x`,
  ])('%j is refused', (text) => {
    expect(refused(() => parseVerifier(text))).toContain('expected a verifier key')
  })

  test('any key survives a round trip through its text, for both kinds of signature', () => {
    for (const type of ['note', 'cosignature'] as const) {
      const key = newKey()
      const made = verifierOf('n.test', type, key)
      const read = parseVerifier(`${made.text}\n`)
      expect([read.name, read.id, read.type, read.text]).toEqual(['n.test', made.id, type, made.text])
      expect(fingerprint(read.key)).toBe(fingerprint(key))
    }
  })

  test('a name with a space, a plus or a control character is invalid', () => {
    for (const name of ['', 'a b', 'a+b', 'a\u2003b', 'a\nb', 'a\u202eb', 'a\ud800'])
      expect(refused(() => signerOf(name, newKey()))).toContain('key name')
  })
})

describe('checkpoints', () => {
  const root = `${'A'.repeat(43)}=`
  test.each([
    '',
    `o\n1\n${root}`,
    `o\n1\n`,
    `\n1\n${root}\n`,
    `o\n01\n${root}\n`,
    `o\n-1\n${root}\n`,
    `o\n+1\n${root}\n`,
    `o\n1.0\n${root}\n`,
    `o\n1e3\n${root}\n`,
    `o\n 1\n${root}\n`,
    `o\n\n${root}\n`,
    `o\n9007199254740992\n${root}\n`,
    `o\n1\n${root.slice(4)}\n`,
    `o\n1\n${root}AAAA\n`,
    `o\n1\n${root.replace('=', '')}\n`,
    `o\n1\n${root}\n\n`,
    `o\n1\n${root}\n\nmore\n`,
  ])('%j is none', (text) => {
    expect(refused(() => parseCheckpoint(text))).toContain('expected a checkpoint')
  })

  test('lines of the log’s own are passed over', () => {
    expect(parseCheckpoint(`o\n0\n${root}\nmore\n`).size).toBe(0)
  })

  test('any checkpoint survives a round trip through its text', () => {
    const hash = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('hex'))
    fc.assert(
      fc.property(fc.maxSafeNat(), hash, (size, root_hash) => {
        expect(parseCheckpoint(checkpointText({ origin: 'o.test/x', size, root_hash }))).toEqual({
          origin: 'o.test/x',
          size,
          root_hash,
        })
      }),
    )
  })
})

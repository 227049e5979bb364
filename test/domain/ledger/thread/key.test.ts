/** The thread's key derives from that of the evidence log, as `docs/design/ledger.md` says. */
import { expect, test } from 'bun:test'
import { createHmac, createPrivateKey, createPublicKey } from 'node:crypto'
import { openNote, parseVerifier, signerOf } from '../../../../src/domain/ledger/engine/note.ts'
import { threadSigner } from '../../../../src/domain/ledger/thread/sequencer.ts'

const pkcs8 = (seed: Buffer) =>
  createPrivateKey({
    key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]),
    format: 'der',
    type: 'pkcs8',
  })
const hmac = (key: Buffer, text: Buffer) => createHmac('sha256', key).update(text).digest()

test('the seed is HKDF-SHA256 of the evidence seed, and the origin ends in /thread', () => {
  const seed = Buffer.alloc(32, 7)
  const signer = threadSigner('cstp/0123456789abcdef', pkcs8(seed))
  // RFC 5869 by hand: extract without salt, then the first block of expand.
  const derived = hmac(hmac(Buffer.alloc(32), seed), Buffer.from('cstp/thread/v1\x01'))
  const expected = signerOf('cstp/0123456789abcdef/thread', pkcs8(derived))
  expect([signer.name, signer.verifier_key]).toEqual([expected.name, expected.verifier_key])
  const text = `${signer.name}\n1\nAAAA\n`
  expect(openNote(signer.sign(text), [parseVerifier(expected.verifier_key)]).text).toBe(text)
  const evidence = createPublicKey(pkcs8(seed)).export({ type: 'spki', format: 'der' }).toString('base64').slice(-43)
  expect(signer.verifier_key).not.toContain(evidence)
})

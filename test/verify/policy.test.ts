/** Trust policies: what they say, and what is refused, with the line. */
import { expect, test } from 'bun:test'
import { readPolicy } from '../../src/verify/policy.ts'
import { logSigner, witness } from '../support/evidence/note-signers.ts'
import * as fc from '../support/property.ts'

const log = logSigner().verifier_key
const key = (name: string) => witness(`${name}.example`, name).verifier_key
const witnesses = (...names: string[]) => names.map((name) => `witness ${name} ${key(name)}\n`).join('')
const enough = (text: string, ...cosigned: string[]) => readPolicy(text).isQuorum(new Set(cosigned))

test('the example of the specification', () => {
  const policy = `log ${log}

${witnesses('X1', 'X2', 'X3')}group X-witnesses 2 X1 X2 X3

${witnesses('Y1', 'Y2', 'Y3')}group Y-witnesses any Y1 Y2 Y3

group X-and-Y all X-witnesses Y-witnesses
quorum X-and-Y
`
  expect(enough(policy, 'X1', 'X3', 'Y2')).toBe(true)
  expect(enough(policy, 'X1', 'Y1', 'Y2', 'Y3')).toBe(false)
  expect(enough(policy, 'X1', 'X2', 'X3')).toBe(false)
})

test('comments, tabs, addresses, a quorum of one, and no quorum are accepted', () => {
  const text = `\t# ours\n  log\t${log} https://log.example/ \nwitness w ${key('w')} https://w.example/x\n\nquorum w`
  const policy = readPolicy(text)
  expect(policy.logs.map(({ url }) => url)).toEqual(['https://log.example/'])
  expect(policy.witnesses.map(({ name, url }) => [name, url])).toEqual([['w', 'https://w.example/x']])
  expect([enough(text, 'w'), enough(text)]).toEqual([true, false])
  expect(enough('quorum none')).toBe(true)
})

test('a group counts as many members as it says', () => {
  const names = ['a', 'b', 'c', 'd', 'e']
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), fc.subarray(names), (needed, cosigned) => {
      const policy = `${witnesses(...names)}group g ${needed} ${names.join(' ')}\nquorum g\n`
      expect(enough(policy, ...cosigned)).toBe(cosigned.length >= needed)
    }),
  )
})

const two = witnesses('a', 'b')
test.each([
  ['', 'there is no quorum line'],
  [`log ${log}\n`, 'there is no quorum line'],
  ['quorum none\nquorum none\n', 'line 2: there is a quorum already'],
  ['quorum a\n', 'line 1: a is not a witness or a group'],
  [`${two}group g 3 a b\nquorum g`, 'line 3: expected all, any or a number from 1 to 2'],
  [`${two}group g 0 a b\nquorum g`, 'line 3: expected all, any or a number'],
  [`${two}group g all a a\nquorum g`, 'line 3: a is a member already'],
  [`${two}group g all a\ngroup h all a b\nquorum h`, 'line 4: a is a member already'],
  [`${two}group g all g\nquorum g`, 'line 3: g is not a witness or a group'],
  [`${two}group g all none\nquorum g`, 'line 3: none is not'],
  [`${two}witness a ${key('c')}\nquorum a`, 'line 3: the name a is taken'],
  [`${two}witness c ${key('a')}\nquorum a`, 'line 3: the key of a.example is given twice'],
  [`log ${log}\nlog ${log}\nquorum none`, 'line 2: the key of log.example/1 is given twice'],
  [`log ${key('a')}\nquorum none`, 'line 1: a.example is the key of a witness'],
  [`witness none ${key('a')}\nquorum none`, 'line 1: the name none is taken'],
  [`witness a ${log}\nquorum a`, 'line 1: log.example/1 is the key of a log'],
  ['log nonsense\nquorum none', 'line 1: expected a key'],
  ['log\nquorum none', 'line 1: expected log <vkey> [<url>]'],
  ['quorum none\rx', 'line 1: there is a control character'],
  ['constructor x\nquorum none', 'line 1: expected log, witness, group, quorum'],
])('%j is refused', (text, message) => expect(() => readPolicy(text)).toThrow(message))

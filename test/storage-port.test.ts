/** The store port stays small enough to be held in the head. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import ts from 'typescript'

const file = join(import.meta.dir, '../sdk/storage/store.ts')

/** Verbs that the interface offers, itself or in a group, such as `transaction` and `decisions.get`. */
function verbsOf(checker: ts.TypeChecker, type: ts.Type): string[] {
  return type.getProperties().flatMap((member) => {
    const of = checker.getTypeOfSymbol(member)
    if (of.getCallSignatures().length > 0) return [member.name]
    const group = of.getProperties().filter((one) => checker.getTypeOfSymbol(one).getCallSignatures().length > 0)
    return of.flags & ts.TypeFlags.Object ? group.map(({ name }) => `${member.name}.${name}`) : []
  })
}

/** Verbs of the ledger port, which the thread shares with the evidence log. */
const ofLedger = ['head', 'hashes', 'nodes', 'checkpoints', 'saveCheckpoint'].map((name) => `thread.${name}`)

/** What a store driver implements. A new verb needs a reason that no combination of these serves. */
const storeVerbs = [
  'append',
  'audit.list',
  'close',
  'decisions.find',
  'decisions.get',
  'decisions.groups',
  'decisions.list',
  'decisions.put',
  'decisions.walk',
  'edges.of',
  'embeddings.put',
  'embeddings.putGeneration',
  'erase',
  'feed.head',
  'feed.since',
  'keyed.delete',
  'keyed.expire',
  'keyed.get',
  'keyed.list',
  'keyed.put',
  'reconcile',
  'scrub',
  'thread.newest',
  'thread.ofDecision',
  'thread.read',
  'thread.sequence',
  'transaction',
]

test('the store port has these verbs, counted once where readers and transactions share them', () => {
  const program = ts.createProgram([file], {
    noLib: false,
    allowImportingTsExtensions: true,
    noEmit: true,
    skipLibCheck: true,
  })
  const checker = program.getTypeChecker()
  const verbs = new Set<string>()
  ts.forEachChild(program.getSourceFile(file)!, (node) => {
    if (ts.isInterfaceDeclaration(node) && (node.name.text === 'Store' || node.name.text === 'Transaction'))
      for (const verb of verbsOf(checker, checker.getTypeAtLocation(node))) verbs.add(verb)
  })
  for (const verb of ofLedger) expect(verbs.delete(verb)).toBe(true)
  expect([...verbs].sort()).toEqual(storeVerbs)
})

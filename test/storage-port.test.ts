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

test('the store port has at most 42 verbs, counted once where readers and transactions share them', () => {
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
  expect([...verbs]).toContain('keyed.expire')
  expect([...verbs].sort().length).toBeLessThanOrEqual(42)
})

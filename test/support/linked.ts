/** Linked decisions for tests. */
import type { TestProgram } from './program.ts'

/** Decisions named by letters, linked as `a>b` says. */
export async function linked(program: TestProgram, ...links: string[]): Promise<Record<string, string>> {
  const ids: Record<string, string> = {}
  for (const name of new Set(links.flatMap((link) => link.slice(0, 3).split('>'))))
    ids[name] = await program.record({ decision: `Decision ${name}` })
  for (const link of links) {
    const [source, target] = link.slice(0, 3).split('>') as [string, string]
    const edge_type = link.slice(4) || 'relates_to'
    await program.call('linkDecisions', { source_id: ids[source], target_id: ids[target], edge_type })
  }
  return ids
}

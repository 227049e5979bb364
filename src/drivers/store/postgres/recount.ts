/** Compares the tallies with a recount. */
import type { Query } from '../../shared/postgres/client.ts'
import { kind } from './folding.ts'

/** For each view, queries for its stored and its recounted values. */
const tallies = {
  tallies: [
    `select ${kind}, sum(decisions)::bigint from tallies group by ${kind} having sum(decisions) <> 0`,
    `select ${kind}, count(*) from decisions group by ${kind}`,
  ],
  value_tallies: [
    'select field, value, sum(decisions)::bigint from value_tallies group by field, value having sum(decisions) <> 0',
    `select v.field, v.value, count(*) from decisions d, lateral (
       select * from counted_values(d.created_ms, d.project, d.tags)
       union all select * from kind_values(d.agent, d.category, d.stakes, d.status, d.outcome)) v group by v.field, v.value`,
  ],
} as const

/** The views whose tallies differ from a recount. */
export async function wrongTallies(query: Query): Promise<string[]> {
  const wrong: string[] = []
  for (const [name, [kept, counted]] of Object.entries(tallies)) {
    const rows = await query(`((${kept}) except (${counted})) union all ((${counted}) except (${kept})) limit 1`)
    if (rows.length > 0) wrong.push(name)
  }
  return wrong
}

/** Denials by agent and rule: shown beside the next request, and limited, so that a denied action is not asked for again in other words until somebody gives in. */
import type { KeyedReader, Transaction } from '../../../../sdk/storage/store.ts'
import { dayMs, timestamp } from '../../../core/time.ts'
import { sha256 } from './asked.ts'

export const deniedCollection = 'approval_denied'

/** Denials of one agent and rule within a day, after which no further request for this rule is taken. */
export const mostDenied = 5
const kept = 10
const keptMs = 90 * dayMs

/** Denied approvals of an agent and a rule, newest first. */
interface Denials {
  rule: string
  denied: { id: string; at_ms: number }[]
}

const keyOf = (agent: string, rule: string): string => sha256({ agent, rule })

/** The denials of each of these rules. */
export async function denialsOf(
  keyed: Pick<KeyedReader, 'get'>,
  agent: string,
  rules: readonly string[],
): Promise<Denials[]> {
  const found = await keyed.get(deniedCollection, [...new Set(rules.map((rule) => keyOf(agent, rule)))])
  return found.map(({ value }) => value as Denials)
}

export async function addDenial(
  { keyed }: Transaction,
  { id, requester, rules }: { id: string; requester: string; rules: readonly { guardrail_id: string }[] },
  at_ms: number,
): Promise<void> {
  for (const { guardrail_id: rule } of rules) {
    const [known] = await denialsOf(keyed, requester, [rule])
    const value: Denials = { rule, denied: [{ id, at_ms }, ...(known?.denied ?? [])].slice(0, kept) }
    await keyed.put(deniedCollection, keyOf(requester, rule), value, { expires_ms: at_ms + keptMs })
  }
}

/** Ids of the newest denials. */
export const earlierDenials = (all: readonly Denials[]): string[] =>
  [
    ...new Set(
      all
        .flatMap(({ denied }) => denied)
        .sort((a, b) => b.at_ms - a.at_ms)
        .map(({ id }) => id),
    ),
  ].slice(0, kept)

/** Why no further request for these rules is taken now; null if one is. */
export function tooManyDenials(all: readonly Denials[], now_ms: number): string | null {
  for (const { rule, denied } of all) {
    const recent = denied.filter(({ at_ms }) => now_ms - at_ms < dayMs)
    if (recent.length < mostDenied) continue
    const until = timestamp(recent[mostDenied - 1]!.at_ms + dayMs)
    return `${recent.length} requests for the rule ${rule} were denied within 24 hours: none is taken until ${until}`
  }
  return null
}

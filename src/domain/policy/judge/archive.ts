/**
 * The archive of rule sets. Each set is stored under its hash when it comes into force, with the periods in which it was, so that past
 * verdicts can be explained and repeated. Archived rules are never changed or removed.
 */
import type { BreakerRule } from '../../../../sdk/schema/guardrail.ts'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import { compareText } from '../../../../sdk/storage/fields.ts'
import { keyedPages } from '../../../../sdk/storage/keyed.ts'
import type { KeyedReader, Store, Transaction } from '../../../../sdk/storage/store.ts'
import { timestamp } from '../../../core/time.ts'
import type { LoadedRule } from '../rules/parse.ts'
import { compileSet, fileName, type PolicySet } from '../rules/set.ts'

/** A period in which a set was in force, RFC 3339; `until` is null while the period lasts. */
export interface Period {
  from: string
  until: string | null
}

/** An archived set. */
export interface ArchivedPolicy {
  /** In the order of the files. */
  rules: Omit<LoadedRule, 'column' | 'assumed_match'>[]
  breakers: BreakerRule[]
  /** Oldest first; only the last 100. */
  periods: Period[]
}

/** Names of the collections, for moving them to another store. */
export const policyCollections = { archive: 'policy', in_force: 'policy_in_force' } as const
const { archive, in_force } = policyCollections
/** The only key of the collection `in_force`: its value names the set in force. */
const latest = 'latest'
const periodsKept = 100

async function put(tx: Transaction, { hash, rules, breakers }: PolicySet, at: string): Promise<void> {
  const [head] = await tx.keyed.get(in_force, [latest])
  const before = (head?.value as { policy_hash: string } | undefined)?.policy_hash ?? null
  if (before === hash) return
  const known = new Map((await tx.keyed.get(archive, [hash, ...(before ? [before] : [])])).map((one) => [one.key, one]))
  const former = before === null ? undefined : known.get(before)
  if (former) {
    const value = former.value as ArchivedPolicy
    const periods = value.periods.map((one) => (one.until === null ? { ...one, until: at } : one))
    await tx.keyed.put(archive, before!, { ...value, periods })
  }
  const own = known.get(hash)?.value as ArchivedPolicy | undefined
  const periods = [...(own?.periods ?? []), { from: at, until: null }].slice(-periodsKept)
  const bare = () =>
    rules.map(({ rule: { column: _, assumed_match: __, ...rule } }) => ({ ...rule, file: fileName(rule.file) }))
  const value: ArchivedPolicy = own ? { ...own, periods } : { rules: bare(), breakers, periods }
  await tx.keyed.put(archive, hash, value)
  await tx.keyed.put(in_force, latest, { policy_hash: hash })
}

/** The hash that this process archived last, by the records of a store: each caller has a store of its own before them. */
const enacted = new WeakMap<object, { hash: string; done: Promise<void> }>()

/** Archives a set as the one in force, once. A set that can't be archived is not used: its verdicts could never be explained. */
export function enact(store: Pick<Store, 'transaction' | 'keyed'>, set: PolicySet, now_ms: number): Promise<void> {
  const known = enacted.get(store.keyed)
  if (known?.hash === set.hash) return known.done
  const done = store.transaction((tx) => put(tx, set, timestamp(now_ms)))
  enacted.set(store.keyed, { hash: set.hash, done })
  done.catch(() => enacted.delete(store.keyed))
  return done
}

/** The archived set of this hash; null if there is none. */
export async function archivedPolicy({ keyed }: Pick<Store, 'keyed'>, hash: string): Promise<ArchivedPolicy | null> {
  const [found] = await keyed.get(archive, [hash])
  return (found?.value as ArchivedPolicy | undefined) ?? null
}

/** The rule set that was in force at a time; null if the archive has none for that time. @throws StorageError `corrupt` if it was altered */
export async function policyAsOf({ keyed }: { keyed: KeyedReader }, at_ms: number): Promise<PolicySet | null> {
  const covers = ({ from, until }: Period) => Date.parse(from) <= at_ms && (until === null || Date.parse(until) > at_ms)
  for await (const page of keyedPages(keyed, archive))
    for (const { key, value } of page) {
      const { rules, breakers, periods } = value as ArchivedPolicy
      if (!periods.some(covers)) continue
      const set = compileArchived({ policy_hash: key, guardrails: rules, circuit_breakers: breakers })
      if (set === 'altered') throw new StorageError('corrupt', `the archived rules ${key} are not what their hash says`)
      return set
    }
  return null
}

/** Most sets that {@link policyChanges} reads. */
const mostSets = 1_000

/** When sets came into force, newest first; at most the last 100. */
export async function policyChanges({
  keyed,
}: Pick<Store, 'keyed'>): Promise<{ policy_hash: string; in_force_from: string }[]> {
  const sets = await keyed.list(archive, { limit: mostSets })
  return sets
    .flatMap(({ key, value }) =>
      (value as ArchivedPolicy).periods.map(({ from }) => ({ policy_hash: key, in_force_from: from })),
    )
    .sort((a, b) => compareText(b.in_force_from, a.in_force_from))
    .slice(0, periodsKept)
}

/** Compiles a result of getPolicy; `altered` if it does not match its hash. */
export function compileArchived(given: {
  policy_hash: string
  guardrails: readonly object[]
  circuit_breakers: readonly object[]
}): PolicySet | 'altered' {
  try {
    const set = compileSet(given.guardrails as LoadedRule[], given.circuit_breakers as BreakerRule[])
    return set.hash === given.policy_hash ? set : 'altered'
  } catch {
    return 'altered'
  }
}

/** What a verification looks at, and what it finds wrong. */

/** Every check with its question, in the order of the report. */
export const checks = {
  form: 'The file is a bundle, in canonical JSON',
  chain: 'Every event follows the one before it, unchanged',
  head: 'Size, head hash and Merkle root are those of the events',
  checkpoint: 'The checkpoint is of these events, and the key in the bundle signed it',
  key: 'The key that you gave signed the checkpoint',
  witness: 'The witness that you named cosigned the checkpoint',
  conclusions: 'Mappings, insufficiencies and coverage follow from the events by the rules in the bundle',
  decisions: 'A digest is listed for each linked decision',
  older: 'The events of the older bundle are the first ones of this one',
} as const
export type CheckName = keyof typeof checks

export interface Finding {
  check: CheckName
  /** The event concerned, where there is one. */
  seq: number | null
  message: string
}

export interface Findings {
  add(check: CheckName, message: string, seq?: number | null): void
  list: Finding[]
  /** How many there were of a check; only the first of them are in the list. */
  count(check: CheckName): number
}

/** Findings of one check that are kept; a damaged file can hold a million. */
const kept = 20

export function openFindings(): Findings {
  const counts = new Map<CheckName, number>()
  const list: Finding[] = []
  return {
    list,
    add(check, message, seq = null) {
      const count = (counts.get(check) ?? 0) + 1
      counts.set(check, count)
      if (count <= kept) list.push({ check, seq, message })
    },
    count: (check) => counts.get(check) ?? 0,
  }
}

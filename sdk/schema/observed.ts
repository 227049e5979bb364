/** Fields of a decision that no agent recorded. */
import * as v from 'valibot'

const d = v.description

/** Fields of a decision that no agent recorded, but a hook observed or git knows; absent in all others. */
export const observedEntries = {
  source: v.optional(
    v.pipe(
      v.picklist(['hook', 'git']),
      d(
        '`hook` if a hook of the agent’s client observed the action and no agent recorded it. It is not scored until an agent adopts it. `git` if it was imported from the history of a repository.',
      ),
    ),
  ),
  adopted_by: v.optional(
    v.pipe(
      v.string(),
      d(
        'With `source: hook`: the agent that stated a confidence. The decision is scored with it if no event of its pull request or commits told before how it went.',
      ),
    ),
  ),
  adopted_at: v.optional(v.pipe(v.string(), d('When it did, RFC 3339.'))),
} as const

/** Common parts of GitHub's deliveries: their schemas, accounts and approvals, and how an event is made. */
import * as v from 'valibot'
import type { WebhookKey } from '../../../../../sdk/storage/evidence.ts'
import { canonical } from '../../../../core/canonical.ts'
import { instantMs } from '../../../../core/time.ts'
import { type Seen, source } from '../../../policy/facts/reviews.ts'
import type { NewEvent } from '../chain.ts'

/** A push to a branch without a pull request: `commits` are those that a pull request opened at `sha` would have. */
export const branchPushed = 'branch_pushed'

/** A delivery with a valid signature. */
export interface Delivery {
  /** `X-GitHub-Delivery`. */
  id: string
  /** `X-GitHub-Event`, which the signature does not cover. */
  kind: string
  /** SHA-256 of the body as sent, lowercase hex. */
  body_sha256: string
  body: unknown
}

/** Input of a plan apart from the parsed body. */
export interface Origin {
  delivery: Delivery
  bots: readonly string[]
}

/** The events that a delivery leads to. */
export interface Plan {
  repo: string
  /** Keys of the records that its events depend on. */
  keys: WebhookKey[]
  /** @param known records of this repository under these keys, in the order of the log */
  events(known: readonly Seen[]): Seen[]
}

/** A kind of delivery: the schema of its body, and its plan. Null if nothing of it is recorded. */
export interface Kind {
  plan(origin: Origin): Plan | null
}

/** @throws v.ValiError from `plan` if the body has another form */
export const kind = <S extends v.GenericSchema>(
  schema: S,
  plan: (body: v.InferOutput<S>, origin: Origin) => Plan | null,
): Kind => ({
  plan: (origin) => plan(v.parse(schema, origin.delivery.body), origin),
})

export const Count = v.pipe(v.number(), v.safeInteger(), v.minValue(1))
export const Text = v.string()
export const Sha = v.pipe(v.string(), v.regex(/^[0-9a-f]{40}(?:[0-9a-f]{24})?$/, 'Expected the hash of a commit'))
export const Time = v.pipe(
  v.string(),
  v.check((value) => instantMs(value) !== null, 'Expected an RFC 3339 time'),
)
export const Repository = v.object({ full_name: v.pipe(v.string(), v.minLength(1)) })
/** A member that only bodies of another kind have. */
export const foreign = v.optional(v.never('this member belongs to another kind of event'))

/** @param payload undefined members are left out */
export const event = (event_type: string, ts: string, payload: Record<string, unknown>): Seen => ({
  event_type,
  ts,
  payload: Object.fromEntries(Object.entries(payload).filter(([, value]) => value !== undefined)),
})

/** The event to append, with the keys of its delivery, by which a repeated delivery is found. @throws NotInteroperable */
export const stored = ({ event_type, ts, payload, is_inferred }: Seen, { id, body_sha256 }: Delivery): NewEvent => ({
  ts,
  source,
  event_type,
  evidence_class: is_inferred ? 'inferred' : 'observed',
  payload: canonical({ ...payload, delivery_id: id, body_sha256 }),
})

/** An account of GitHub; null if it was deleted. */
export const Account = v.nullish(v.object({ login: v.pipe(v.string(), v.minLength(1)), type: v.optional(v.string()) }))
export type Account = v.InferOutput<typeof Account>

const bare = (login: string): string => login.replace(/\[bot\]$/i, '').toLowerCase()

/** Accounts of type Bot, logins that end in `[bot]`, and accounts that the settings name (with or without `[bot]`). */
const isAgent = (account: NonNullable<Account>, bots: readonly string[]): boolean =>
  account.type === 'Bot' || /\[bot\]$/i.test(account.login) || bots.some((bot) => bare(bot) === bare(account.login))

/** Undefined if GitHub does not name the account. */
export const isHuman = (account: Account, bots: readonly string[]): boolean | undefined =>
  account ? account.type === 'User' && !isAgent(account, bots) : undefined

/** The members of a payload about the author of a pull request. */
export function authorship(author: Account, bots: readonly string[]): Record<string, unknown> {
  if (!author) return {}
  const is_agent_authored = isAgent(author, bots)
  return {
    author: author.login,
    is_agent_authored,
    ...(is_agent_authored && { agent_type: author.login.replace(/\[bot\]$/i, '') }),
  }
}

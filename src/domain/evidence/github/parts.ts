/** Common parts of GitHub's deliveries: their schemas, accounts and approvals, and how an event is made. */
import * as v from 'valibot'
import type { WebhookKey } from '../../../../sdk/storage/evidence.ts'
import { instantMs } from '../../../core/time.ts'
import { canonical } from '../canonical.ts'
import type { NewEvent } from '../chain.ts'

export const source = 'webhook:github'
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

/** An event with its payload as an object, from the log or about to be added. */
export interface Seen {
  event_type: string
  ts: string
  payload: Readonly<Record<string, unknown>>
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
export const stored = ({ event_type, ts, payload }: Seen, { id, body_sha256 }: Delivery): NewEvent => ({
  ts,
  source,
  event_type,
  evidence_class: 'observed',
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

/** Accounts whose approval counts. @see docs/guide/github.md */
const insiders: ReadonlySet<unknown> = new Set(['OWNER', 'MEMBER', 'COLLABORATOR'])
export const isInsider = (association: unknown): boolean => insiders.has(association)

/** The latest opinion of a reviewer. */
export interface Review {
  /** Number of its event, if that is in the log. */
  seq: number
  id: unknown
  approves: boolean
  human: boolean
  inside: boolean
  sha: unknown
  at: number
}

/** A login, or the name of a repository, in lower case: GitHub compares both without regard to case. */
export const loginOf = (login: unknown): string | null => (typeof login === 'string' ? login.toLowerCase() : null)

/**
 * Approvals in force: the latest review of each reviewer that approves or requests changes, if it approves and was not dismissed. The
 * author's own reviews don't count.
 * @param seen events of this pull request, in the order of the log
 */
export function latestReviews(
  seen: readonly (Seen & { seq?: number })[],
  { author, until = Number.POSITIVE_INFINITY }: Pick<Counted, 'author' | 'until'>,
): Review[] {
  const dismissed = new Set<unknown>()
  const latest = new Map<unknown, Review>()
  for (const { ts, payload, seq = 0 } of seen) {
    const { review_id: id, state, actor_is_human } = payload
    const reviewer = loginOf(payload.reviewer)
    const at = Date.parse(ts)
    if (id === undefined || reviewer === null || reviewer === loginOf(author) || !(at <= until)) continue
    if (state === 'dismissed') dismissed.add(id)
    if (state !== 'approved' && state !== 'changes_requested') continue
    const [human, inside] = [actor_is_human === true, isInsider(payload.author_association)]
    const review = { seq, id, approves: state === 'approved', human, inside, sha: payload.reviewed_sha, at }
    // Deliveries may arrive in a different order than the reviews.
    if (review.at >= (latest.get(reviewer)?.at ?? Number.NEGATIVE_INFINITY)) latest.set(reviewer, review)
  }
  return [...latest.values()].filter(({ id, approves }) => approves && !dismissed.has(id))
}

/** Which reviews are counted. */
export interface Counted {
  author: string | null
  /** The head of the pull request: approvals of other commits do not count. */
  head: string
  /** Later reviews are ignored, because deliveries may overtake each other. */
  until?: number
}

export interface ApprovalCounts {
  approval_count: number
  human_approval_count: number
  /** People whose approval is for another commit than the head. */
  stale_approval_count: number
  /** People who are not owners, members or collaborators. */
  outside_approval_count: number
}

/**
 * Approvals that count: those in force, by an owner, member or collaborator, for the head.
 * @param seen events of this pull request, in the order of the log
 */
export function approvals(seen: readonly Seen[], { head, ...counted }: Counted): ApprovalCounts {
  const approving = latestReviews(seen, counted)
  const inside = approving.filter((review) => review.inside)
  const current = inside.filter(({ sha }) => sha === head)
  const people = (reviews: readonly Review[]) => reviews.filter(({ human }) => human).length
  return {
    approval_count: current.length,
    human_approval_count: people(current),
    stale_approval_count: people(inside) - people(current),
    outside_approval_count: people(approving) - people(inside),
  }
}

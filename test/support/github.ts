/** Deliveries of GitHub for tests: the published examples, and bodies in their form with what a test cares about. */
import { createHash, createHmac, randomUUID } from 'node:crypto'
import { createRequire } from 'node:module'
import { openMemoryEvidence } from '../../docs/examples/driver/evidence.ts'
import type { Evidence } from '../../sdk/storage/evidence.ts'
import { openChain } from '../../src/domain/ledger/evidence/chain.ts'
import { type Delivery, type Taken, takeDelivery } from '../../src/domain/ledger/evidence/github/events.ts'

const load = createRequire(import.meta.url)

export interface Example {
  kind: string
  body: Record<string, unknown>
}

/** Every example of GitHub itself, or of a version of its server such as `ghes-35`. */
export const examples = (of = 'api.github.com'): Example[] =>
  (
    load(`@octokit/webhooks-examples/${of}/index.json`) as { name: string; examples: Record<string, unknown>[] }[]
  ).flatMap(({ name, examples }) => examples.map((body) => ({ kind: name, body })))

export const repo = 'acme/app'
export const sha = (text: string): string => createHash('sha1').update(text).digest('hex')
/** The `n`th minute of the day on which everything happens. */
export const at = (n: number): string => new Date(Date.UTC(2026, 6, 1, 10, n)).toISOString().replace('.000Z', 'Z')

export const user = (login: string, type = 'User') => ({ login, type, id: 1 })
const repository = (full_name: string) => ({ id: full_name.length, full_name, default_branch: 'main' })

export interface Pull {
  number?: number
  title?: string
  body?: string | null
  author?: ReturnType<typeof user> | null
  sender?: ReturnType<typeof user>
  head?: string
  branch?: string
  base?: string
  repo?: string
  /** Null where it was deleted. */
  fork?: string | null
  at?: number
}

function pullOf(given: Pull): Record<string, unknown> {
  const of = repository(given.repo ?? repo)
  return {
    number: given.number ?? 7,
    title: given.title ?? 'Add a cache',
    body: given.body ?? null,
    user: given.author === undefined ? user('ann') : given.author,
    head: {
      ref: given.branch ?? 'cache',
      sha: sha(given.head ?? 'head'),
      repo: given.fork === undefined ? of : given.fork === null ? null : repository(given.fork),
    },
    base: { ref: given.base ?? 'main', sha: sha('base'), repo: of },
    draft: false,
    created_at: at(given.at ?? 0),
    updated_at: at(given.at ?? 0),
    closed_at: null,
    merged_at: null,
    merged: false,
    merge_commit_sha: null,
    merged_by: null,
  }
}

export const pullRequest = (action: string, given: Pull = {}, more: Record<string, unknown> = {}): Example => ({
  kind: 'pull_request',
  body: {
    action,
    number: given.number ?? 7,
    pull_request: { ...pullOf(given), ...more },
    repository: repository(given.repo ?? repo),
    sender: given.sender ?? user('ann'),
  },
})

/** Its merge commit is `sha('merge <number>')`. */
export const merged = (given: Pull = {}): Example =>
  pullRequest('closed', given, {
    merged: true,
    merged_at: at(given.at ?? 0),
    closed_at: at(given.at ?? 0),
    merge_commit_sha: sha(`merge ${given.number ?? 7}`),
    merged_by: given.sender ?? user('ann'),
  })

export const closed = (given: Pull = {}): Example => pullRequest('closed', given, { closed_at: at(given.at ?? 0) })

/** A review by a member, made at the minute of `given`; `on` another commit than the head where it says so. */
export const review = (
  reviewer: ReturnType<typeof user> | null,
  state: string,
  given: Pull & { id?: number; action?: string; dismissed_at?: number; association?: string | null; on?: string } = {},
): Example => ({
  kind: 'pull_request_review',
  body: {
    action: given.action ?? 'submitted',
    pull_request: { ...pullOf(given), updated_at: at(given.dismissed_at ?? given.at ?? 0) },
    review: {
      id: given.id ?? (given.at ?? 0) + 1,
      user: reviewer,
      state,
      commit_id: sha(given.on ?? given.head ?? 'head'),
      author_association: given.association === undefined ? 'MEMBER' : given.association,
      submitted_at: at(given.at ?? 0),
    },
    repository: repository(given.repo ?? repo),
    sender: given.sender ?? reviewer,
  },
})

export const push = (given: {
  before: string
  /** `distinct` is false for one that another branch had before. */
  commits: { id: string; message?: string; distinct?: boolean }[]
  branch?: string
  ref?: string
  repo?: string
  at?: number
}): Example => ({
  kind: 'push',
  body: {
    ref: given.ref ?? `refs/heads/${given.branch ?? 'main'}`,
    before: sha(given.before),
    after: sha(given.commits.at(-1)?.id ?? 'none'),
    commits: given.commits.map(({ id, message, distinct = true }) => ({
      id: sha(id),
      distinct,
      message: message ?? `Commit ${id}`,
      author: { name: 'Ann', username: 'ann' },
    })),
    repository: { ...repository(given.repo ?? repo), pushed_at: Date.parse(at(given.at ?? 0)) / 1_000 },
    sender: user('ann'),
  },
})

export const suite = (head: string, numbers: number[], conclusion = 'success'): Example => ({
  kind: 'check_suite',
  body: {
    action: 'completed',
    check_suite: {
      id: 5,
      head_sha: sha(head),
      head_branch: 'cache',
      conclusion,
      pull_requests: numbers.map((number) => ({ number, base: { repo: { id: repo.length } } })),
      app: { slug: 'github-actions', name: 'GitHub Actions' },
      updated_at: at(9),
    },
    repository: repository(repo),
    sender: user('ann'),
  },
})

export const deliveryOf = ({ kind, body }: Example, id: string = randomUUID()): Delivery => ({
  id,
  kind,
  body,
  body_sha256: createHash('sha256').update(JSON.stringify(body)).digest('hex'),
})

export interface Told {
  event_type: string
  ts: string
  payload: Record<string, unknown>
}

export const chainOf = (evidence: Evidence) => openChain({ evidence, now: Date.now, yieldToEventLoop: async () => {} })

/** A log in memory that takes deliveries. */
export function openTaker(bots: string[] = []) {
  const evidence = openMemoryEvidence()
  const chain = chainOf(evidence)
  return {
    evidence,
    take: (delivery: Delivery): Promise<Taken> => takeDelivery(chain, delivery, bots),
    /** Takes deliveries in order; the events that each added. */
    async tell(...given: Example[]): Promise<Told[][]> {
      const told: Told[][] = []
      for (const one of given) {
        const { seq } = await evidence.head()
        const taken = await takeDelivery(chain, deliveryOf(one), bots)
        if (taken.outcome === 'refused') throw new Error(taken.reason)
        const records = await evidence.read(seq + 1, 100)
        told.push(records.map(({ event_type, ts, payload }) => ({ event_type, ts, payload: JSON.parse(payload) })))
      }
      return told
    },
  }
}

export const secret = 'a secret that only tests use'

/** Posts a delivery as GitHub does. `headers` replace its own; null leaves one out. */
export function post(
  url: string,
  { kind, body }: { kind: string; body: unknown },
  headers: Record<string, string | null> = {},
  workspace = '',
): Promise<Response> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const own: Record<string, string | null> = {
    'content-type': 'application/json',
    'x-github-event': kind,
    'x-github-delivery': randomUUID(),
    'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(text).digest('hex')}`,
    ...headers,
  }
  const sent = Object.entries(own).filter((entry): entry is [string, string] => entry[1] !== null)
  return fetch(`${url}/webhooks/github${workspace && `/${workspace}`}`, { method: 'POST', headers: sent, body: text })
}

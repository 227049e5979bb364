/**
 * The tools of a server as they were when it was first seen, or when a person last accepted them. A tool that is new or differs is withheld:
 * a server could otherwise change what a tool does, or what its description tells the model, after it was trusted.
 */

import type { PinChange, ToolPin } from '../../../sdk/schema/gateway.ts'
import { isStorageError } from '../../../sdk/storage/errors.ts'
import { keyedPages } from '../../../sdk/storage/keyed.ts'
import type { KeyedReader, Transaction } from '../../../sdk/storage/store.ts'
import { stableJson } from '../../core/canonical.ts'
import { jsonSha256 } from '../../core/digest.ts'
import { visibleCopy, visibleText } from '../../core/quote.ts'
import { timestamp } from '../../core/time.ts'
import { pinCollection } from '../record/hook-records.ts'
import { findingsInValue } from './suspicious.ts'

/** A tool as its server describes it. */
export interface ToolDefinition {
  name: string
  [field: string]: unknown
}

/** One state of a tool. */
export interface SeenTool {
  /** SHA-256 of the definition, and of how the server is started or reached. */
  digest: string
  /** What the server says of the tool: title, description, schemas, annotations. */
  definition: Readonly<Record<string, unknown>>
  /** How the server is started or reached. */
  server: string
  /** What the server calls itself, with its version; null if it has not said so. */
  identity: string | null
  /** What in the definition a person doesn't see, or addresses the model. */
  findings: string[]
  seen_ms: number
}

export interface Pin {
  /** What was accepted; null if the tool was never accepted. */
  accepted: (SeenTool & { by: string | null; accepted_ms: number }) | null
  /** What waits for a person; null if the tool is as it was accepted. */
  waiting: SeenTool | null
}

/** The pins of a server, by tool. */
export type Pins = Readonly<Record<string, Pin>>

export async function readPins(keyed: Pick<KeyedReader, 'get'>, server: string): Promise<Pins | null> {
  const [found] = await keyed.get(pinCollection, [server])
  return (found?.value as { tools: Pins } | undefined)?.tools ?? null
}

/** Fields that say nothing about what a tool does, and that a server may fill differently in each answer. */
const withoutMeta = ({ _meta: _, icons: __, ...definition }: ToolDefinition) => definition

/** A server: how it is started or reached, and what it calls itself. */
export interface PinnedServer {
  place: string
  identity: string | null
}

export function seen(tool: ToolDefinition, { place, identity }: PinnedServer, now_ms: number): SeenTool {
  const definition = withoutMeta(tool)
  return {
    digest: jsonSha256([definition, place]),
    definition,
    server: place,
    identity,
    findings: findingsInValue(definition),
    seen_ms: now_ms,
  }
}

/** Whether a tool is as it was. A client may not have asked the server who it is. */
const isSame = (known: SeenTool | null | undefined, now: SeenTool): boolean =>
  known?.digest === now.digest && (known.identity === now.identity || known.identity === null || now.identity === null)

/**
 * The pins after a list of tools. The first list of a server is accepted, but for tools with findings; afterwards whatever is new or differs
 * waits for a person. Returns null if nothing changes.
 */
export function compared(before: Pins | null, listed: readonly SeenTool[], names: readonly string[]): Pins | null {
  const after: Record<string, Pin> = { ...before }
  let changed = before === null
  for (const [at, tool] of listed.entries()) {
    const name = names[at]!
    const known = Object.hasOwn(after, name) ? after[name] : undefined
    if (known?.accepted && isSame(known.accepted, tool)) {
      const identity = known.accepted.identity ?? tool.identity
      if (known.waiting !== null || identity !== known.accepted.identity) {
        after[name] = { accepted: { ...known.accepted, identity }, waiting: null }
        changed = true
      }
      continue
    }
    if (isSame(known?.waiting, tool)) continue
    changed = true
    if (before === null && tool.findings.length === 0)
      after[name] = { accepted: { ...tool, by: null, accepted_ms: tool.seen_ms }, waiting: null }
    else after[name] = { accepted: known?.accepted ?? null, waiting: tool }
  }
  return changed ? after : null
}

/** Whether the tool may be used as it is. */
const isAccepted = (pins: Pins, tool: SeenTool): boolean => {
  const name = String(tool.definition.name)
  return Object.hasOwn(pins, name) && isSame(pins[name]!.accepted, tool)
}

/** Stores what a server lists, and returns the tools that may be used. */
export async function notePins(
  store: { keyed: Pick<KeyedReader, 'get'>; transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> },
  server: string,
  tools: readonly ToolDefinition[],
  from: PinnedServer,
  now_ms: number,
): Promise<ToolDefinition[]> {
  const listed = tools.map((tool) => seen(tool, from, now_ms))
  const names = tools.map(({ name }) => name)
  const usable = (pins: Pins) => tools.filter((_, at) => isAccepted(pins, listed[at]!))
  const before = await readPins(store.keyed, server)
  if (compared(before, listed, names) === null) return usable(before!)
  const pins = await store.transaction(async (tx) => {
    const current = await readPins(tx.keyed, server)
    const after = compared(current, listed, names)
    if (after !== null) await tx.keyed.put(pinCollection, server, { tools: after })
    return after ?? current!
  })
  return usable(pins)
}

/**
 * Accepts what waits of a server: one tool, or all. Returns the accepted tools with their digests. A record that was changed without the
 * service is put aside where all are accepted: none is accepted then, and from the next list on all tools of the server wait.
 * @param tool null for all
 */
export async function acceptPins(
  tx: Pick<Transaction, 'keyed'>,
  server: string,
  tool: string | null,
  by: string,
  now_ms: number,
): Promise<{ tool: string; digest: string }[]> {
  const pins = await readPins(tx.keyed, server).catch(async (error: unknown) => {
    if (tool !== null || !isStorageError(error, 'corrupt')) throw error
    await tx.keyed.put(pinCollection, server, { tools: {} })
    return null
  })
  const waiting = Object.entries(pins ?? {}).flatMap(([name, pin]) =>
    pin.waiting !== null && (tool ?? name) === name ? [[name, pin.waiting] as const] : [],
  )
  if (waiting.length === 0) return []
  const accepted = waiting.map(([name, one]) => [
    name,
    { accepted: { ...one, by, accepted_ms: now_ms }, waiting: null },
  ])
  await tx.keyed.put(pinCollection, server, { tools: { ...pins, ...Object.fromEntries(accepted) } })
  return waiting.map(([name, { digest }]) => ({ tool: name, digest }))
}

/** Whether what waits of a tool is what was shown: it was first seen at that time. */
export async function isAsSeen(
  keyed: Pick<KeyedReader, 'get'>,
  server: string,
  tool: string,
  seen_at: string,
): Promise<boolean> {
  const pins = await readPins(keyed, server)
  const waiting = pins !== null && Object.hasOwn(pins, tool) ? pins[tool]!.waiting : null
  return waiting !== null && timestamp(waiting.seen_ms) === seen_at
}

function changesOf(before: SeenTool, after: SeenTool): PinChange[] {
  const fields = [...new Set([...Object.keys(before.definition), ...Object.keys(after.definition)])].sort()
  const changes = fields.map((field) => ({
    field,
    before: before.definition[field] ?? null,
    after: after.definition[field] ?? null,
  }))
  const servers = { field: 'server', before: before.server, after: after.server }
  const versions = { field: 'version', before: before.identity, after: after.identity }
  return [...changes, servers, ...(before.identity && after.identity ? [versions] : [])]
    .filter((one) => stableJson(one.before) !== stableJson(one.after))
    .map((one) => visibleCopy(one))
}

function shownPin(server: string, tool: string, { accepted, waiting }: Pin): ToolPin {
  const now = waiting ?? accepted!
  const { description } = now.definition
  return {
    server,
    tool: visibleText(tool),
    state: waiting === null ? 'accepted' : accepted === null ? 'new' : 'changed',
    description: typeof description === 'string' ? visibleText(description) : null,
    findings: now.findings,
    changes: waiting !== null && accepted !== null ? changesOf(accepted, waiting) : [],
    accepted_at: accepted === null ? null : timestamp(accepted.accepted_ms),
    accepted_by: accepted?.by ?? null,
    seen_at: timestamp(now.seen_ms),
  }
}

/** The tools, those that wait first. @param query.server null for all */
export async function listPins(
  keyed: Pick<KeyedReader, 'list'>,
  { server, waiting }: { server: string | null; waiting: boolean },
): Promise<ToolPin[]> {
  const all: ToolPin[] = []
  for await (const page of keyedPages(keyed, pinCollection))
    for (const { key, value } of page)
      if ((server ?? key) === key)
        for (const [tool, pin] of Object.entries((value as { tools: Pins }).tools)) all.push(shownPin(key, tool, pin))
  const isWaiting = ({ state }: ToolPin) => state !== 'accepted'
  const shown = waiting ? all.filter(isWaiting) : all
  return shown.sort((a, b) => Number(isWaiting(b)) - Number(isWaiting(a)))
}

/** cstp.listPins: the tools of the servers behind the gateway, as they are pinned. */
import * as v from 'valibot'
import { nonEmptyText } from '../../sdk/schema/decision.ts'
import { ToolPin } from '../../sdk/schema/gateway.ts'
import { shortened, whole } from '../../sdk/schema/params.ts'
import { defineMethod } from '../calls/method.ts'
import { listPins as list } from '../domain/gateway/pins.ts'

const d = v.description

export const listPins = defineMethod({
  summary: 'Lists the tools that the gateway has pinned, those that wait for a person first.',
  params: v.object({
    server: v.pipe(v.optional(v.nullable(nonEmptyText(64)), null), d('Only tools of this server.')),
    waiting: v.pipe(v.optional(v.boolean(), false), d('Only tools that wait for a person.')),
    limit: v.pipe(v.optional(whole(1, 500), 100), d('Maximum number of tools.')),
    offset: v.pipe(v.optional(whole(0, 1_000_000), 0), d('Number of tools to skip.')),
  }),
  result: v.object({
    pins: v.pipe(v.array(ToolPin), d('The tools.')),
    total: v.pipe(v.number(), d('Number of tools on all pages.')),
    shortened,
  }),
  scope: 'read',
  page: { list: 'pins' },
  effect: 'read',
  async handle({ store }, { server, waiting, limit, offset }) {
    const all = await list(store.keyed, { server, waiting })
    return { pins: all.slice(offset, offset + limit), total: all.length }
  },
})

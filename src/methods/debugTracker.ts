/** cstp.debugTracker: the deliberation sessions that wait for a decision. */
import * as v from 'valibot'
import { defineMethod } from '../calls/method.ts'
import { seesAll } from '../core/caller.ts'
import { listConsumed, listSessions } from '../domain/record/deliberation/sessions.ts'
import { partsOf } from '../domain/record/deliberation/tracker.ts'

const d = v.description
const maxSessions = 100
const maxConsumed = 50

export const debugTracker = defineMethod({
  summary: 'Returns the deliberation sessions of the caller; with the scope admin, those of all agents.',
  params: v.object({}),
  result: v.object({
    sessions: v.pipe(
      v.array(
        v.object({
          key: v.pipe(v.string(), d('Agent, and the values in its calls that distinguish sessions.')),
          agent: v.string(),
          input_count: v.pipe(v.number(), d('Inputs kept.')),
          dropped: v.pipe(v.number(), d('Inputs dropped because the session was full.')),
          inputs: v.array(
            v.object({
              id: v.pipe(v.string(), d('Id of the input.')),
              type: v.string(),
              text: v.pipe(v.string(), d('The question, finding or thought.')),
              source: v.pipe(v.string(), d('Method that recorded it.')),
              age_seconds: v.pipe(v.number(), d('Seconds since it was recorded.')),
            }),
          ),
          idle_seconds: v.pipe(v.number(), d('Seconds since the last input.')),
        }),
      ),
      d('Sessions without a decision, newest first.'),
    ),
    consumed: v.pipe(
      v.array(
        v.object({
          key: v.pipe(v.string(), d('Key of the session.')),
          agent: v.string(),
          decision_id: v.string(),
          input_count: v.pipe(v.number(), d('Inputs attached to the decision.')),
          age_seconds: v.pipe(v.number(), d('Seconds since it was attached.')),
        }),
      ),
      d('The latest sessions attached to a decision, newest first.'),
    ),
  }),
  scope: 'read',
  effect: 'read',
  async handle({ store, tracker, caller, now, tracker_ttl_ms }) {
    await tracker.flush()
    const agent = seesAll(caller) ? undefined : caller.agent
    const seconds = (ms: number) => Math.max(0, Math.round((now() - ms) / 1_000))
    const since_ms = now() - tracker_ttl_ms
    // A client sees nothing of the other clients that have its token.
    const isOwn = ({ key }: { key: string }) => {
      const { client } = partsOf(key)
      return agent === undefined || caller.session === undefined || client === null || client === caller.session
    }
    const sessions = (await listSessions(store, agent)).filter((one) => one.updated_ms >= since_ms && isOwn(one))
    const consumed = (await listConsumed(store, agent)).filter(isOwn)
    return {
      sessions: sessions.slice(0, maxSessions).map(({ key, agent, inputs, dropped, updated_ms }) => ({
        key: partsOf(key).key,
        agent,
        input_count: inputs.length,
        dropped,
        inputs: inputs.map(({ id, type, text, source, timestamp }) => ({
          id,
          type,
          text,
          source,
          age_seconds: seconds(Date.parse(timestamp)),
        })),
        idle_seconds: seconds(updated_ms),
      })),
      consumed: consumed
        .slice(0, maxConsumed)
        .map(({ consumed_ms, key, ...one }) => ({ key: partsOf(key).key, ...one, age_seconds: seconds(consumed_ms) })),
    }
  },
})

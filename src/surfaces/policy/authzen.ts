/**
 * AuthZEN: gateways and other enforcement points can use the Authorization API unchanged.
 * @see OpenID AuthZEN Authorization API 1.0
 */
import * as v from 'valibot'
import { CstpError, invalidParam } from '../../../sdk/errors.ts'
import { nonEmptyText } from '../../../sdk/schema/decision.ts'
import { Context } from '../../../sdk/schema/policy.ts'
import type { Dispatch } from '../../calls/dispatch.ts'
import { isObject } from '../../core/json.ts'
import { compileParams } from '../../core/params.ts'
import { maxBatch, turn } from '../http/jsonrpc.ts'
import { json, type Route, type Visit } from '../http/route.ts'
import { checkScope, explain, openCheck, overLimit, readValue, refusal, statusOf } from './check.ts'

const requestId = 'X-Request-ID'
/** Three names of this length fit into the description of an action. */
const name = nonEmptyText(3_000)
const properties = v.optional(Context)
/** Fields that the standard does not define are passed on to the rules. */
const entity = v.looseObject({ type: name, id: name, properties })
const parse = compileParams(
  v.object({
    subject: entity,
    action: v.looseObject({ name, properties }),
    resource: entity,
    context: v.optional(Context, () => ({})),
  }),
)
const parseOptions = compileParams(
  v.object({
    evaluations_semantic: v.optional(
      v.picklist(['execute_all', 'deny_on_first_deny', 'permit_on_first_permit']),
      'execute_all',
    ),
  }),
)

interface Decision {
  decision: boolean
  context: Record<string, unknown>
}
type Fields = Record<string, unknown>

/** Longest agent name that a check accepts in addition to the credentials. */
const longestAgent = 256

/** The check for an evaluation: rules see its entities as sent, together with its context. */
function toParams({ subject, action, resource, context }: Fields) {
  const given = parse({ subject, action, resource, context })
  const { type, id } = given.resource
  return {
    action: {
      category: 'authzen',
      description: `${given.action.name} ${type} ${id}`,
      context: { ...given.context, subject: given.subject, action: given.action, resource: given.resource },
    },
    // The subject that the gateway acts for: it can't approve its own request, and has a separate deliberation.
    ...(given.subject.id.length <= longestAgent && { agent: { id: given.subject.id } }),
  }
}

/** The decision for a failed evaluation of a batch. */
function failed(thrown: unknown): Decision {
  const { status, error } = statusOf(thrown)
  return { decision: false, context: { error: { status, message: error.message } } }
}

const fieldsOf = (value: unknown, path: string): Fields => {
  if (isObject(value)) return value
  throw invalidParam(path, 'an object', typeof value)
}

/** @param options.url address of the service */
export function authzenRoutes(options: { dispatch: Dispatch; url(): string }): Record<string, Route> {
  const check = openCheck(options.dispatch)

  async function evaluate(fields: Fields, visit: Visit): Promise<Decision> {
    const checked = await check(toParams(fields), visit)
    return { decision: checked.allowed, context: explain(checked) }
  }

  /** Evaluates in order, which matters for the semantics that stop early. */
  async function evaluateAll(list: unknown[], body: Fields, visit: Visit): Promise<Decision[]> {
    const { evaluations_semantic } = isObject(body.options) ? body.options : {}
    const semantic = parseOptions({ evaluations_semantic }).evaluations_semantic
    if (list.length > maxBatch)
      throw new CstpError('invalid_request', `evaluations: expected at most ${maxBatch}, received ${list.length}`)
    // The request itself paid for the first one.
    const wait = await visit.take(list.length - 1)
    if (wait > 0) throw overLimit(wait)
    const { subject, action, resource, context } = body
    const decisions: Decision[] = []
    for (const [index, item] of list.entries()) {
      const decided = await Promise.resolve()
        .then(() => evaluate({ subject, action, resource, context, ...fieldsOf(item, `evaluations.${index}`) }, visit))
        .catch(failed)
      decisions.push(decided)
      if (semantic === (decided.decision ? 'permit_on_first_permit' : 'deny_on_first_deny')) break
      await turn()
    }
    return decisions
  }

  const post = (answer: (body: Fields, visit: Visit) => Promise<object>): Route => ({
    methods: ['POST'],
    scope: checkScope,
    headers: [requestId],
    echo: requestId,
    async handle(request, visit) {
      try {
        const read = await readValue(request, visit)
        return read instanceof Response ? read : json(await answer(fieldsOf(read.value, ''), visit))
      } catch (error) {
        return refusal(error, 'error')
      }
    },
  })

  return {
    '/access/v1/evaluation': post(evaluate),
    '/access/v1/evaluations': post(async (body, visit) => {
      const { evaluations: list } = body
      if (list === undefined || (Array.isArray(list) && list.length === 0)) return evaluate(body, visit)
      if (Array.isArray(list)) return { evaluations: await evaluateAll(list, body, visit) }
      const [expected, received] = ['an array', typeof list]
      throw invalidParam('evaluations', expected, received)
    }),
    '/.well-known/authzen-configuration': {
      methods: ['GET', 'HEAD'],
      handle() {
        const url = options.url()
        return json({
          policy_decision_point: url,
          access_evaluation_endpoint: `${url}/access/v1/evaluation`,
          access_evaluations_endpoint: `${url}/access/v1/evaluations`,
        })
      },
    },
  }
}

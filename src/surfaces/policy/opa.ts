/**
 * The data API of Open Policy Agent, with one document: a client that asks an OPA server whether something is allowed can ask here.
 * @see OPA, REST API, "Get a Document (with Input)"
 */
import type { CheckGuardrailsParams, CheckGuardrailsResult } from '../../../sdk/client.gen.ts'
import { invalidParam } from '../../../sdk/errors.ts'
import type { Dispatch } from '../../calls/dispatch.ts'
import { isObject } from '../../core/json.ts'
import { json, type Route } from '../http/route.ts'
import { checkScope, explain, openCheck, readValue, refusal } from './check.ts'

const start = '/v1/data/'
const documents = new Set(['cstp', 'cstp/allow'])
/** Maximum characters of an input in the description; the context has all of it. */
const longestShown = 500

/** The document that a path names; clients escape it as a whole, or each part. */
function documentAt(path: string): string | null {
  try {
    return decodeURIComponent(path.slice(start.length)).replace(/(?<!\/)\/+$/, '')
  } catch {
    return null
  }
}

/**
 * The check for an input: `input.action` if it is an action of `cstp.checkGuardrails`, else the whole input. An object with a description
 * is taken as an action, so that a mistake in it is reported and not evaluated as something else.
 */
function toParams(input: unknown): CheckGuardrailsParams {
  const action = isObject(input) ? input.action : undefined
  if (isObject(action) && typeof action.description === 'string')
    return { action: action as unknown as CheckGuardrailsParams['action'] }
  const text = JSON.stringify(input)
  const description = text.length > longestShown ? `${text.slice(0, longestShown).toWellFormed()}…` : text
  return { action: { category: 'opa', description, context: { input } } }
}

const changed = (changes: CheckGuardrailsResult['changes']): string =>
  changes.map(({ field, after, rule }) => `${field} ${JSON.stringify(after)} (${rule})`).join('; ')

function inputOf(body: unknown): unknown {
  if (isObject(body) && body.input !== undefined) return body.input
  const [expected, received] = ['an object with the input', typeof body]
  throw invalidParam('input', expected, received, 'is required')
}

export function opaRoutes({ dispatch }: { dispatch: Dispatch }): Record<string, Route> {
  const check = openCheck(dispatch)
  return {
    [start]: {
      methods: ['POST'],
      scope: checkScope,
      async handle(request, visit) {
        // In OPA an undefined document is not an error.
        if (!documents.has(documentAt(visit.path) ?? '')) return json({})
        try {
          const read = await readValue(request, visit)
          if (read instanceof Response) return read
          const checked = await check(toParams(inputOf(read.value)), visit)
          // An OPA client acts exactly as it asked or not at all: an action that rules allow only with changes is not allowed.
          const { verdict, changes } = checked
          const reason = verdict === 'modify' && { reason: `Allowed only as changed: ${changed(changes)}` }
          return json({ result: { allow: verdict === 'allow', ...explain(checked), ...reason } })
        } catch (error) {
          return refusal(error, 'code')
        }
      },
    },
  }
}

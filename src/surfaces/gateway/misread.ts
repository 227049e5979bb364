/**
 * Messages of a client that a lenient server could read as another call than the one that is judged: some look at the method alone, and the
 * JSON decoder of Go, for one, ignores the case of members.
 */
import { fieldsOf, isNotification, isRequest, type Message } from './messages.ts'

const call = 'tools/call'
const folded = (text: string): string => text.normalize('NFKC').trim().toLowerCase()

/** The first member that is one of these by another spelling. */
const twin = (object: object, names: ReadonlySet<string>): string | undefined =>
  Object.keys(object).find((key) => !names.has(key) && names.has(folded(key)))

const members = new Set(['jsonrpc', 'id', 'method', 'params', 'result', 'error'])
const parameters = new Set(['name', 'arguments'])

/** Whether a value is sent as it was read: a number beyond all others would be sent as null. */
const isExact = (value: unknown): boolean =>
  typeof value === 'object' && value !== null
    ? Object.values(value).every(isExact)
    : value !== Number(value) || Number.isFinite(value)

/** Why a message is not passed on; null if it says the same to every server. */
export function misread(message: Message): string | null {
  const twice = twin(message, members)
  if (twice !== undefined) return `The member ${JSON.stringify(twice)} is none of the protocol`
  if (isNotification(message))
    return message.method.startsWith('notifications/') ? null : 'A message without an id must be a notification'
  if (!isRequest(message)) return null
  if (message.method !== call) return folded(message.method) === call ? `The method is ${call}` : null
  if (!isExact(message.params)) return `${call}: a number in it is none that JSON can carry`
  const other = twin(fieldsOf(message.params), parameters)
  return other === undefined ? null : `${call}: the parameter ${JSON.stringify(other)} is none of the protocol`
}

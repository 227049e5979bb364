/** Refuses misspelt environment variables of this program: without a word, a limit or a rule pack would not be in force. */
import { nearest } from '../../../sdk/nearest.ts'
import { settings } from './table.ts'

/** Variables of the program that are not settings: the file of settings, and what clients, hooks and the gateway send to a service. */
const besides = ['CSTP_CONFIG', 'CSTP_AGENT', 'CSTP_TOKEN', 'CSTP_URL']

const prefix = 'CSTP_'
const known = [...Object.values(settings).map(({ env }) => env), ...besides]
const bare = known.map((name) => name.replace(prefix, '').toLowerCase())

/** A problem for each variable `CSTP_…` that has a value and that nothing reads, with the name that was probably meant. */
export function* unknownVariables(env: Record<string, string | undefined>): Generator<string> {
  for (const name of Object.keys(env).sort()) {
    if (!name.startsWith(prefix) || !env[name] || known.includes(name)) continue
    const near = nearest(name.slice(prefix.length).toLowerCase(), bare)
    const meant = near === null ? 'cstp help settings lists them' : `did you mean ${known[bare.indexOf(near)]}?`
    yield `${name} (environment): unknown setting; ${meant}`
  }
}

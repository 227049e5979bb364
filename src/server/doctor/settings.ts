/** Settings that are read, but hardly meant so. */
import { nearest } from '../../../sdk/nearest.ts'
import { type Settings, settings as table } from '../../config.ts'
import { type Finding, note, warning } from './finding.ts'

/** Variables of ours that are no settings. */
const others = ['CSTP_CONFIG', 'CSTP_AGENT', 'CSTP_TOKEN', 'CSTP_SOAK', 'CSTP_TEST_STORES', 'CSTP_TEST_POSTGRES']
const names = [...Object.values(table).map(({ env }) => env), ...others]

const loopback = /^(?:localhost|127\.\d+\.\d+\.\d+|::1)$/

export function* checkSettings(settings: Settings, env: Record<string, string | undefined>): Generator<Finding> {
  for (const name of Object.keys(env).sort()) {
    if (!name.startsWith('CSTP_') || names.includes(name)) continue
    const near = nearest(
      name.toLowerCase(),
      names.map((one) => one.toLowerCase()),
    )
    yield warning(
      `there is no setting ${name}`,
      near ? `did you mean ${near.toUpperCase()}?` : 'cstp help settings lists them all',
    )
  }
  const { host, embedder, public_url, rate_limit, record_guardrails } = settings
  if (!loopback.test(host) && !public_url?.startsWith('https:'))
    yield warning(
      `the service listens on ${host} and has no https address: tokens may cross the network in the clear`,
      'put a proxy with TLS before it and name its address in CSTP_PUBLIC_URL, or listen on 127.0.0.1',
    )
  if (embedder === 'hash')
    yield warning(
      'the embedder hash is for tests: it knows words, not meaning',
      'unset CSTP_EMBEDDER, then cstp reindex',
    )
  if (rate_limit === 0) yield note('there is no rate limit', 'unset CSTP_RATE_LIMIT')
  if (record_guardrails === 'off')
    yield note('decisions are recorded without a look at the guardrails', 'unset CSTP_RECORD_GUARDRAILS')
}

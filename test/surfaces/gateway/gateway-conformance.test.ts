/** The protocol's own conformance suite finds the same through the gateway as without it, for a server with every feature. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { startFeatureServer } from '../../support/feature-server.ts'
import { type Check, runSuite, withCredentials } from '../mcp/conformance-suite.ts'
import { type Behind, openBehind } from './gateway.ts'

let features: ReturnType<typeof startFeatureServer>
let behind: Behind
let proxy: Bun.Server<undefined>
beforeAll(async () => {
  features = startFeatureServer()
  behind = await openBehind({ more: { features: { url: features.url, calls_per_minute: 0 } } })
  proxy = withCredentials(behind.serving.url)
})
afterAll(async () => {
  await proxy.stop(true)
  await behind.close()
  await features.stop()
})

/** Scenarios with what their checks found, without the order. */
const found = (scenarios: Map<string, Check[]>): Record<string, string[]> =>
  Object.fromEntries(
    [...scenarios].map(([name, checks]) => [name, checks.map(({ id, status }) => `${id} ${status}`).sort()]),
  )

test.each(['2025-11-25', '2026-07-28'])('%s', async (revision) => {
  const addresses = [features.url, `http://127.0.0.1:${proxy.port}/gateway/features`]
  const [direct, through] = (await Promise.all(addresses.map((url) => runSuite(url, revision)))).map(found) as [
    Record<string, string[]>,
    Record<string, string[]>,
  ]
  const passed = Object.values(direct).filter((checks) => checks.every((one) => !one.endsWith('FAILURE')))
  expect(passed.length).toBeGreaterThan(15)
  // The feature server checks no host; the service does.
  direct['dns-rebinding-protection'] = (direct['dns-rebinding-protection'] ?? []).map((one) =>
    one.replace('host-rebinding-rejected FAILURE', 'host-rebinding-rejected SUCCESS'),
  )
  expect(through).toEqual(direct)
})

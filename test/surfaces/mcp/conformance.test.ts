/** The protocol's own conformance suite against the running server, for both families of revisions. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Running, startServing } from '../../support/serving.ts'
import { runSuite, withCredentials } from './conformance-suite.ts'

const fixtureTool = 'calls a tool of the suite’s own example server'
const fixturePrompt = 'asks for a prompt of the suite’s own example server'
const fixtureResource = 'reads a resource of the suite’s own example server'
const noInput =
  'needs a tool that asks the user for input in the middle of a call; these tools ask for all they need at the start'

/** Scenarios that fail at either revision, each with why. One that begins to pass fails the test, so that it leaves this list. */
const everywhere = {
  'completion-complete': 'no completions: the server does not declare the capability',
  'tools-call-simple-text': fixtureTool,
  'tools-call-image': fixtureTool,
  'tools-call-audio': fixtureTool,
  'tools-call-embedded-resource': fixtureTool,
  'tools-call-mixed-content': fixtureTool,
  'tools-call-error': fixtureTool,
  'tools-call-with-progress': fixtureTool,
  'json-schema-2020-12': fixtureTool,
  'resources-read-text': fixtureResource,
  'resources-read-binary': fixtureResource,
  'resources-templates-read': fixtureResource,
  'prompts-get-simple': fixturePrompt,
  'prompts-get-with-args': fixturePrompt,
  'prompts-get-embedded-resource': fixturePrompt,
  'prompts-get-with-image': fixturePrompt,
}
const expected: Record<string, Record<string, string>> = {
  '2025-11-25': {
    ...everywhere,
    'logging-set-level': 'no log messages to clients: the server does not declare the capability',
    'resources-subscribe': 'no subscriptions to resources: the server does not declare the capability',
    'resources-unsubscribe': 'no subscriptions to resources: the server does not declare the capability',
    'tools-call-with-logging': fixtureTool,
    'tools-call-sampling': fixtureTool,
    'tools-call-elicitation': fixtureTool,
    'elicitation-sep1034-defaults': fixtureTool,
    'elicitation-sep1330-enums': fixtureTool,
  },
  '2026-07-28': {
    ...everywhere,
    'server-stateless': 'four of its 28 checks call diagnostic tools of the suite’s own example server',
    'http-custom-header-server-validation': 'no tool takes an argument from an HTTP header',
    'input-required-result-basic-elicitation': noInput,
    'input-required-result-basic-sampling': noInput,
    'input-required-result-basic-list-roots': noInput,
    'input-required-result-request-state': noInput,
    'input-required-result-multiple-input-requests': noInput,
    'input-required-result-multi-round': noInput,
    'input-required-result-non-tool-request': noInput,
    'input-required-result-result-type': noInput,
    'input-required-result-tampered-state': noInput,
    'input-required-result-capability-check': noInput,
  },
}
/** Checks that fail within a scenario whose other checks count. */
const untestable = [
  'sep-2575-http-server-no-independent-requests-on-stream',
  'sep-2575-missing-capability-http-400',
  'sep-2575-server-no-log-without-loglevel',
  'sep-2575-server-rejects-undeclared-capability',
]

let server: Running
let proxy: Bun.Server<undefined>
beforeAll(async () => {
  server = await startServing({ CSTP_RATE_LIMIT: '0' })
  proxy = withCredentials(server.url)
})
afterAll(async () => {
  await proxy.stop(true)
  await server.stop()
})

test.each(Object.keys(expected))('%s', async (revision) => {
  const scenarios = await runSuite(`http://127.0.0.1:${proxy.port}/mcp`, revision)
  expect(scenarios.size).toBeGreaterThan(30)
  const failing = [...scenarios].flatMap(([name, checks]) =>
    checks.some(({ status }) => status === 'FAILURE') ? [name] : [],
  )
  expect(failing.sort()).toEqual(Object.keys(expected[revision]!).sort())
  const stateless = scenarios.get('server-stateless') ?? []
  const failed = stateless.flatMap(({ id, status }) => (status === 'FAILURE' ? [id] : []))
  expect(failed.sort()).toEqual(stateless.length > 0 ? untestable : [])
})

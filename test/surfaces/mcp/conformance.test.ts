/** The protocol's own conformance suite against the running server, for both families of revisions. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../../support/process.ts'
import { type Running, startServing, tokens } from '../../support/serving.ts'

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
  // The suite can send no credentials.
  proxy = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request, self) {
      self.timeout(request, 0)
      const headers = new Headers(request.headers)
      headers.set('authorization', `Bearer ${tokens.ada}`)
      const { pathname } = new URL(request.url)
      const { method, body, signal } = request
      const response = await fetch(server.url + pathname, { method, headers, body, signal })
      return new Response(response.body, { status: response.status, headers: response.headers })
    },
  })
})
afterAll(async () => {
  await proxy.stop(true)
  await server.stop()
})

interface Check {
  id: string
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO'
}

/** The checks of every scenario that ran. */
async function run(revision: string): Promise<Map<string, Check[]>> {
  const dir = await mkdtemp(join(tmpdir(), 'cstp-conformance-'))
  try {
    const url = `http://127.0.0.1:${proxy.port}/mcp`
    const suite = ['server', '--url', url, '--suite', 'all', '--spec-version', revision, '--output-dir', dir]
    const child = Bun.spawn([process.execPath, '--bun', join(root, 'node_modules/.bin/conformance'), ...suite], {
      cwd: dir,
      stdout: 'ignore',
      stderr: 'ignore',
    })
    await child.exited
    const found = new Map<string, Check[]>()
    for (const name of await readdir(dir)) {
      const scenario = name.replace(/^server-/, '').replace(/-\d{4}-\d{2}-\d{2}T[\d-]+Z$/, '')
      found.set(scenario, JSON.parse(await readFile(join(dir, name, 'checks.json'), 'utf8')))
    }
    return found
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

test.each(Object.keys(expected))('%s', async (revision) => {
  const scenarios = await run(revision)
  expect(scenarios.size).toBeGreaterThan(30)
  const failing = [...scenarios].flatMap(([name, checks]) =>
    checks.some(({ status }) => status === 'FAILURE') ? [name] : [],
  )
  expect(failing.sort()).toEqual(Object.keys(expected[revision]!).sort())
  const stateless = scenarios.get('server-stateless') ?? []
  const failed = stateless.flatMap(({ id, status }) => (status === 'FAILURE' ? [id] : []))
  expect(failed.sort()).toEqual(stateless.length > 0 ? untestable : [])
})

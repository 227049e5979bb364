/** The dashboard among hostile text and hostile sites: markup of no field has an effect, and no other page can use the session. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { type RunningServer, startServer, temporaryDir } from '../support/process.ts'
import { executable, launch, logIn, open, settled, visit, type Watched } from './browser.ts'

setDefaultTimeout(120_000)

/** Markup that becomes an element if it is not escaped; its id names the field. */
const evil = (field: string) => `<img id=x-${field} src=x onerror=top.owned=1>`
const agent = '<script id=x-agent>owned=1</script>'
const token = 'token-of-the-hostile-agent'

const rules = `
guardrails:
  - id: evil
    name: "${evil('rule-name')}"
    description: "${evil('rule-description')}"
    action: block
    condition_stakes: critical
    message: "${evil('rule-message')}"
    suggestion: "${evil('rule-suggestion')}"
circuit_breakers:
  - { scope: "category:${evil('scope')}", failure_threshold: 1, window_ms: 86400000, cooldown_ms: 3600000 }
`

describe.skipIf(!executable)('the dashboard', () => {
  let dir: string
  let server: RunningServer
  let browser: Browser
  let watched: Watched
  let id: string
  const url = () => server.url

  beforeAll(async () => {
    dir = await temporaryDir('cstp-hostile-')
    await mkdir(join(dir, 'rules'))
    await writeFile(join(dir, 'rules', 'x.yaml'), rules)
    const env = { CSTP_AUTH_TOKENS: `${agent}:${token}`, GUARDRAILS_PATHS: join(dir, 'rules') }
    server = await startServer({ dir, env })
    await fill()
    browser = await launch()
    watched = await open(browser)
    await logIn(watched.page, url(), agent, token)
  })
  afterAll(async () => {
    await browser?.close()
    await server?.kill()
    if (dir) await rm(dir, { recursive: true, force: true })
  })

  async function fill(): Promise<void> {
    const other = (await server.call('recordDecision', { decision: evil('precedent'), category: 'c', confidence: 1 }))
      .decision_id as string
    await server.call('reviewDecision', { decision_id: other, outcome: 'success', lessons: evil('other-lessons') })
    await server.call('queryDecisions', { query: evil('precedent') })
    await server.call('recordThought', { text: evil('tracked-thought') })
    const made = await server.call('recordDecision', {
      decision: evil('old-decision'),
      context: evil('context'),
      category: evil('scope'),
      confidence: 0.5,
      reasons: [{ type: evil('reason-type'), text: evil('reason-text') }],
      tags: [evil('tag')],
      pattern: evil('pattern'),
      alternatives_considered: [evil('alternative'), { option: evil('option'), reason: evil('option-reason') }],
      bridge: {
        structure: evil('structure'),
        function: evil('function'),
        tolerance: [evil('tolerance')],
        enforcement: [evil('enforcement')],
        prevention: [evil('prevention')],
      },
      project: { name: evil('project'), feature: evil('feature'), files: [evil('file')] },
      reasoning_trace: [evil('trace')],
      agent_id: evil('agent-id'),
      deliberation: {
        inputs: [{ type: evil('input-type'), content: evil('input') }],
        steps: [{ step: 1, thought: evil('step') }],
      },
    })
    id = made.decision_id as string
    await server.call('updateDecision', { id, updates: { decision: evil('decision') } })
    await server.call('recordThought', { text: evil('thought'), decision_id: id })
    await server.call('linkDecisions', {
      source_id: id,
      target_id: other,
      edge_type: 'relates_to',
      context: evil('link'),
    })
    await server.call('reviewDecision', {
      decision_id: id,
      outcome: 'failure',
      actual_result: evil('result'),
      lessons: evil('lessons'),
      notes: evil('notes'),
    })
    await server.call('recordThought', { text: evil('waiting-thought') })
    await server.call('ingestEvidence', {
      source: 'github',
      events: [
        {
          event_type: 'pr_merged',
          ts: '2026-06-01T08:00:00Z',
          payload: { pr_number: 1, note: evil('payload'), [evil('payload-name')]: 1 },
        },
      ],
    })
  }

  const places: [path: string, fields: string[]][] = [
    ['', ['scope', 'lessons']],
    ['/decisions', ['decision', 'precedent', 'scope']],
    [`/decisions?q=${encodeURIComponent(evil('question'))}`, ['decision', 'precedent']],
    ['/decisions?category=x', []],
    ['/calibration', ['scope']],
    ['/policy', ['rule-name', 'rule-description']],
    ['/breakers', ['scope']],
    ['/proof', ['payload', 'payload-name']],
    ['/deliberation', ['waiting-thought']],
    [
      '/decisions/ID',
      [
        ...['decision', 'old-decision', 'context', 'scope', 'reason-type', 'reason-text', 'tag', 'pattern'],
        ...['alternative', 'option', 'option-reason', 'structure', 'function', 'tolerance', 'enforcement'],
        ...['prevention', 'project', 'feature', 'file', 'trace', 'agent-id', 'input-type', 'input', 'step'],
        ...['thought', 'link', 'result', 'lessons', 'notes', 'precedent'],
      ],
    ],
  ]

  for (const [path, fields] of places)
    test(`shows markup in ${fields.join(', ') || 'the address'} as text at ${path || '/'}`, async () => {
      const { page, complaints } = watched
      await visit(page, url(), path.replace('ID', id))
      await page.evaluate(() => {
        for (const details of document.querySelectorAll('details')) details.open = true
      })
      await settled(page)
      const text = await page.locator('#app').evaluate((app) => app.textContent)
      for (const field of fields) expect([field, text!.includes(evil(field))]).toEqual([field, true])
      expect(text).toContain(agent)
      expect(await page.locator('[id^="x-"], #app img, #app script, #app iframe').count()).toBe(0)
      expect(await page.evaluate(() => 'owned' in globalThis)).toBe(false)
      expect(complaints.splice(0)).toEqual([])
    })

  test('shows markup in what a rule says as text', async () => {
    const { page, complaints } = watched
    await visit(page, url(), '/policy')
    await page.getByText('Try an action').click()
    await page.getByLabel('Planned action').fill(evil('action'))
    await page.getByLabel('Stakes').selectOption('critical')
    await page.getByRole('button', { name: 'Try it' }).click()
    await page.getByText('Denied.').waitFor()
    const said = await page.getByRole('region', { name: 'Try an action' }).innerText()
    for (const field of ['rule-name', 'rule-message', 'rule-suggestion']) expect(said).toContain(evil(field))
    expect(await page.locator('[id^="x-"], #app img').count()).toBe(0)
    expect(complaints.splice(0)).toEqual([])
  })

  test('cuts a title at its end, also one that runs from right to left', async () => {
    const decision = 'נעביר את התור לברוקר החדש, כי הישן מאבד הודעות '.repeat(2)
    await server.call('recordDecision', { decision, category: 'c', confidence: 0.5 })
    const { page } = watched
    await visit(page, url(), '/decisions')
    for (const [title, direction] of [
      ['נעביר', 'rtl'],
      ['precedent', 'ltr'],
    ] as const) {
      const link = page.locator('tbody td:first-child a', { hasText: title })
      expect(await link.evaluate((one) => getComputedStyle(one).direction)).toBe(direction)
      expect(await link.evaluate((one) => getComputedStyle(one).textOverflow)).toBe('ellipsis')
    }
  })

  test('runs no script that was put into it, were there a way to put one', async () => {
    const { context, page } = await open(browser)
    await page.goto(`${url()}/dashboard`)
    await page.getByRole('heading').waitFor()
    await page.evaluate(() => {
      const script = document.createElement('script')
      script.textContent = 'globalThis.owned = 1'
      const image = document.createElement('div')
      image.innerHTML = '<img src=x onerror="globalThis.owned = 2">'
      document.body.append(script, image)
      const far = document.createElement('script')
      far.src = 'https://evil.example/x.js'
      return new Promise((done) => {
        far.onerror = done
        document.body.append(far)
      })
    })
    expect(await page.evaluate(() => 'owned' in globalThis)).toBe(false)
    await context.close()
  })

  test('lets no page of another origin act with its session', async () => {
    const { page, context } = watched
    const record = { decision: 'Made by another site', category: 'c', confidence: 1 }
    const body = JSON.stringify({ jsonrpc: '2.0', method: 'cstp.recordDecision', params: record, id: 1 })
    const total = async () => ((await server.call('getStats', {})) as { total: number }).total
    const before = await total()
    // Another port of the same host is the same site to the browser: it sends the cookie along.
    const other = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: () =>
        new Response('<!doctype html><title>other</title><body>', { headers: { 'content-type': 'text/html' } }),
    })
    try {
      const stranger = await context.newPage()
      await stranger.goto(other.url.href)
      const tried = await stranger.evaluate(
        async ({ to, sent }) => {
          const kinds: RequestInit[] = [
            { mode: 'no-cors', headers: { 'content-type': 'text/plain' } },
            { mode: 'cors', headers: { 'content-type': 'text/plain' } },
            { mode: 'cors', headers: { 'content-type': 'application/json', 'x-cstp-dashboard': '1' } },
          ]
          const found = []
          for (const kind of kinds)
            found.push(
              await fetch(`${to}/cstp`, { method: 'POST', credentials: 'include', body: sent, ...kind }).then(
                ({ type, status }) => `${type} ${status}`,
                () => 'refused',
              ),
            )
          const form = document.createElement('form')
          form.method = 'post'
          form.action = `${to}/cstp`
          form.enctype = 'text/plain'
          const field = document.createElement('input')
          field.name = sent.slice(0, -1)
          field.value = '}'
          form.append(field)
          document.body.append(form)
          form.submit()
          return found
        },
        { to: url(), sent: body },
      )
      expect(tried).toEqual(['opaque 0', 'refused', 'refused'])
      await stranger.waitForURL(`${url()}/cstp`)
      await stranger.close()
    } finally {
      await other.stop(true)
    }
    expect(await total()).toBe(before)
    // The same call from its own page does work: it was the protection that held, not the call that was wrong.
    await visit(page, url(), '/breakers')
    const status = await page.evaluate(
      async (sent) =>
        (
          await fetch('/cstp', {
            method: 'POST',
            headers: { 'content-type': 'application/json', 'x-cstp-dashboard': '1' },
            body: sent,
          })
        ).status,
      body,
    )
    expect([status, await total()]).toEqual([200, before + 1])
  })
})

/** The dashboard over an empty store, for an agent that may only read: no sentence says more than is known. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import type { Browser } from 'playwright-core'
import { type RunningServer, temporaryDir } from '../support/process.ts'
import { executable, launch, logIn, open, visit, type Watched } from './browser.ts'
import { people, startWithReader } from './place.ts'

setDefaultTimeout(120_000)

describe.skipIf(!executable)('the dashboard over an empty store', () => {
  let dir: string
  let server: RunningServer
  let browser: Browser
  let watched: Watched

  beforeAll(async () => {
    dir = await temporaryDir('cstp-empty-')
    ;[server, browser] = await Promise.all([startWithReader(dir, { root: people.root }), launch()])
    watched = await open(browser)
    await logIn(watched.page, server.url, 'reader', people.reader)
  })
  afterAll(async () => {
    await browser?.close()
    await server?.kill()
    if (dir) await rm(dir, { recursive: true, force: true })
  })

  const says: [path: string, text: string, never: string][] = [
    ['/calibration', 'There is not enough data to detect drift yet.', 'No drift was found'],
    ['/decisions', 'No decisions are recorded yet.', 'No decision matches'],
    ['/decisions?stakes=high', 'No decision matches.', 'recorded yet'],
    ['/proof', 'There are no events yet.', 'Every event supports'],
    ['/proof', '0 of 0 events', '0.00 %'],
    ['/approvals', 'No request waits for an answer.', 'in this state'],
    ['/approvals?state=all', 'Nothing was requested yet.', 'in this state'],
    ['/deliberation', 'reader is not deliberating.', 'No agent is deliberating'],
    [
      '/blocks/3',
      'The calls of reader have no such entry. To see those of others your agent needs the scope admin or audit.',
      'Loading',
    ],
    ['/breakers/agent%3Anobody', 'no circuit breaker has this scope', 'is closed'],
  ]
  for (const [path, text, never] of says)
    test(`${path} says ${text}`, async () => {
      await visit(watched.page, server.url, path)
      const shown = await watched.page.locator('main').innerText()
      expect(shown).toContain(text)
      expect(shown).not.toContain(never)
      expect(await watched.page.title()).not.toContain('%')
    })

  test('a line of the trail that judged nothing is no block, nor is one that does not exist: the page says so', async () => {
    const { page, context } = await open(browser)
    await logIn(page, server.url, 'root', people.root)
    for (const seq of [1, 999]) {
      await visit(page, server.url, `/blocks/${seq}`)
      await page.getByText('The audit trail has no such entry.').waitFor()
    }
    await context.close()
  })

  test('what a term means does not lie over its figure', async () => {
    const { page } = watched
    await visit(page, server.url, '/calibration')
    const figure = page.locator('.figure', { has: page.getByRole('button', { name: 'Brier score', exact: true }) })
    await figure.getByRole('button').hover()
    const [tip, value] = await Promise.all([
      figure.getByRole('tooltip').boundingBox(),
      figure.locator('dd').boundingBox(),
    ])
    expect(tip!.y + tip!.height).toBeLessThanOrEqual(value!.y)
  })
})

/** The dashboard's jobs by keyboard alone, in the clicks that they claim. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import { type FleetServer, fleetTokens, startFleet } from '../support/fleet.ts'
import { executable, launch, logIn, open, visit, type Watched } from './browser.ts'
import { jobs, keyboard } from './jobs.ts'

setDefaultTimeout(120_000)

describe.skipIf(!executable)('the jobs of the dashboard', () => {
  let server: FleetServer
  let browser: Browser
  let watched: Watched

  beforeAll(async () => {
    ;[server, browser] = await Promise.all([startFleet(), launch()])
    watched = await open(browser)
    await logIn(watched.page, server.url, 'root', fleetTokens.root!)
  })
  afterAll(async () => {
    await browser?.close()
    await server?.close()
  })

  for (const { name, clicks, run } of jobs)
    test(`${name} takes ${clicks === 1 ? 'one click' : `${clicks} clicks`}, by keyboard alone`, async () => {
      await visit(watched.page, server.url, '')
      const hands = keyboard(watched.page)
      const answer = await run(hands)
      await answer.waitFor()
      expect(hands.clicks).toBe(clicks)
      expect(watched.complaints).toEqual([])
    })

  test('on paper a long panel begins on the page that it is on, and one that is only a form is left out', async () => {
    const { page } = watched
    await page.emulateMedia({ media: 'print' })
    for (const path of ['/agents', '/breakers/category%3Adeployment']) {
      await visit(page, server.url, path)
      const breaks = await page
        .locator('.panel')
        .evaluateAll((all) => all.map((one) => getComputedStyle(one).breakInside))
      expect([path, ...new Set(breaks)]).toEqual([path, 'auto'])
    }
    expect(await page.getByRole('heading', { name: 'Denied since' }).isVisible()).toBe(true)
    expect(await page.getByRole('heading', { name: 'Reset' }).isVisible()).toBe(false)
    await page.emulateMedia({ media: null })
  })
})

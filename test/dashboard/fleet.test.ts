/** The jobs of the dashboard over the fleet's 2 500 decisions, whose truth is known: in a real browser, on one server. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { type FleetServer, fleetTokens, startFleet } from '../support/fleet.ts'
import { executable, launch, logIn, open, settled, visit, type Watched } from './browser.ts'

setDefaultTimeout(120_000)

describe.skipIf(!executable)('the dashboard over the fleet', () => {
  let server: FleetServer
  let browser: Browser
  let watched: Watched
  let page: Page

  beforeAll(async () => {
    ;[server, browser] = await Promise.all([startFleet(), launch()])
    watched = await open(browser)
    page = watched.page
    await logIn(page, server.url, 'root', fleetTokens.root!)
  })
  afterAll(async () => {
    await browser?.close()
    await server?.close()
  })
  const quiet = (): void => expect(watched.complaints.splice(0)).toEqual([])

  test('a page is asked for again while it is live, and keeps its answer if that fails', async () => {
    await visit(page, server.url, '/deliberation')
    const control = page.locator('.fresh')
    expect(await control.innerText()).toContain('Updates every 3 s')
    await server.call('recordThought', { text: 'A thought that comes in by itself' })
    await page.getByText('A thought that comes in by itself').waitFor()
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.route('**/cstp', (route) => route.abort())
    await page.getByRole('button', { name: 'Reload' }).click()
    await control.getByText('Not updated since').waitFor()
    expect(await page.getByText('A thought that comes in by itself').count()).toBe(1)
    await page.unroute('**/cstp')
    await page.getByRole('button', { name: 'Reload' }).click()
    await control.getByText('Paused, as of').waitFor()
    // All pages are paused, not one.
    await visit(page, server.url, '/breakers')
    expect(await control.innerText()).toContain('Paused')
    await page.getByRole('button', { name: 'Resume' }).click()
    watched.complaints.length = 0
  })

  test('what was typed is kept when the session ends, for the same agent', async () => {
    await visit(page, server.url, '/guardrails')
    await page.getByLabel('Planned action').fill('Switch every region')
    await page.context().clearCookies()
    await page.getByRole('button', { name: 'Try it' }).click()
    await page.getByText('what you have typed is kept').waitFor()
    expect(await page.getByLabel('Planned action').isVisible()).toBe(false)
    await page.getByRole('textbox', { name: 'Agent' }).fill('root')
    await page.getByLabel('Token', { exact: true }).fill(fleetTokens.root!)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByLabel('Planned action').waitFor()
    await settled(page)
    expect([await page.getByLabel('Planned action').inputValue(), await page.title()]).toEqual([
      'Switch every region',
      'Guardrails · cstp',
    ])
    await page.getByRole('button', { name: 'Try it' }).click()
    await page.getByText(/^(?:Allowed|Blocked)\.$/).waitFor()
    watched.complaints.length = 0
  })

  test('times are those of the reader, with UTC beside them', async () => {
    const context = await browser.newContext({
      timezoneId: 'Asia/Kolkata',
      storageState: await page.context().storageState(),
    })
    const there = await context.newPage()
    await there.goto(`${server.url}/dashboard/breakers`)
    const time = there.locator('time').first()
    await time.waitFor()
    const at = (await time.getAttribute('datetime'))!
    const local = new Date(Date.parse(at) + 5.5 * 3_600_000).toISOString()
    expect(await time.innerText()).toBe(
      `${local.slice(0, 10)} ${local.slice(11, 16)} GMT+5:30\n${at.slice(0, 10)} ${at.slice(11, 16)} UTC`,
    )
    await context.close()
    quiet()
  })
})

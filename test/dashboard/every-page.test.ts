/** Every page of the dashboard, derived from its registry, in every width and in the states that its parts have: axe finds nothing, nothing scrolls sideways. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { type FleetServer, fleetTokens, startFleet } from '../support/fleet.ts'
import { colours, executable, launch, logIn, open, settled, spill, violations, visit, type Watched } from './browser.ts'

setDefaultTimeout(120_000)

/** On each side of the widths at which the layout changes. */
const widths = [320, 390, 760, 1_024, 1_200, 1_440, 3_840] as const
const source = await Bun.file(new URL('../../src/dashboard/pages/registry.ts', import.meta.url)).text()
/** The paths of the registry; one that ends with `/` is followed by the name of an item. */
const routes = [...source.matchAll(/\bpath: '([^']+)'/g)].map(([, path]) => path!)

describe.skipIf(!executable)('every page of the dashboard', () => {
  let server: FleetServer
  let browser: Browser
  let watched: Watched
  /** An address for each page of a single item. */
  let items: Record<string, string>

  beforeAll(async () => {
    ;[server, browser] = await Promise.all([startFleet(), launch()])
    watched = await open(browser)
    await logIn(watched.page, server.url, 'root', fleetTokens.root!)
    const { approvals } = (await server.call('listApprovals', { limit: 1 })) as { approvals: { id: string }[] }
    const { entries } = (await server.call('listAudit', { allowed: false, limit: 1 })) as { entries: { seq: number }[] }
    const { decisions } = (await server.call('listDecisions', { limit: 1 })) as { decisions: { id: string }[] }
    const { id } = decisions[0]!
    items = {
      '/decisions/': id,
      '/edit/': id,
      '/dossiers/': id,
      '/approvals/': approvals[0]!.id,
      '/breakers/': 'category%3Adeployment',
      '/blocks/': String(entries[0]!.seq),
    }
  })
  afterAll(async () => {
    await browser?.close()
    await server?.close()
  })

  const addressOf = (route: string): string => {
    if (route === '/' || !route.endsWith('/')) return route
    if (items[route] === undefined) throw new Error(`no item is known for the page ${route}: add one to this test`)
    return route + items[route]
  }
  const found = async (page: Page, options: Parameters<typeof violations>[1] = {}) =>
    (await violations(page, options)).map(({ id, nodes }) => `${id}: ${nodes[0]!.html}`)
  /** Opens every part of a page that is folded. */
  const unfold = async (page: Page) => {
    await page.locator('main details').evaluateAll((all) => {
      for (const one of all as HTMLDetailsElement[]) one.open = true
    })
    await settled(page)
  }

  /** What a page shows only after somebody has done something. */
  const states: [name: string, path: string, show: (page: Page) => Promise<void>][] = [
    ['the palette', '/agents', (page) => page.keyboard.press('/')],
    [
      'the palette with what it found',
      '/',
      async (page) => {
        await page.keyboard.press('Control+k')
        await page.keyboard.type('nightly import')
        await page.getByRole('option').first().waitFor()
      },
    ],
    ['the filters', '/decisions?q=rollback+plan&stakes=critical', unfold],
    [
      'the scores of hits',
      '/decisions?q=nightly+import',
      (page) => page.getByRole('button', { name: 'Show scores' }).click(),
    ],
    [
      'a review in the inbox',
      '/inbox',
      (page) =>
        page
          .getByRole('button', { name: /^Review: / })
          .first()
          .click(),
    ],
    [
      'chosen items',
      '/',
      async (page) => {
        for (const at of [0, 1]) await page.locator('.inbox').last().getByRole('checkbox').nth(at).check()
      },
    ],
    [
      'a draft of rules that is tried',
      '/policy',
      async (page) => {
        await page.getByRole('button', { name: 'Take an example' }).click()
        await page.getByRole('table', { name: 'On decisions whose outcome is known' }).waitFor()
      },
    ],
    [
      'a draft of rules with mistakes',
      '/policy',
      async (page) => {
        await page.getByLabel('Rules as YAML').fill('- { id: x, action: explode, message: m }')
        await page
          .getByText(/^Line 1: /)
          .first()
          .waitFor()
      },
    ],
    ['what a term means', '/calibration', (page) => page.getByRole('button', { name: 'Brier score' }).first().hover()],
    ['an address without a page', '/nowhere', async () => {}],
    ['the form of a link', '/decisions/:id?do=link', async () => {}],
    ['the form of a successor', '/record?supersedes=:id', async () => {}],
  ]

  for (const route of routes)
    test(`${route} passes axe, narrow, wide, dark and unfolded, and scrolls nowhere sideways`, async () => {
      const { page, complaints } = watched
      await page.setViewportSize({ width: widths[0], height: 900 })
      await visit(page, server.url, addressOf(route))
      for (const width of widths) {
        await page.setViewportSize({ width, height: 900 })
        await settled(page)
        expect([width, await spill(page)]).toEqual([width, 0])
        // The layout changes between them.
        if (width === 390 || width === 1_024) expect([width, ...(await found(page))]).toEqual([width])
        if (route === '/decisions') {
          const title = await page.locator('tbody td').first().boundingBox()
          expect([width, title!.width >= 240]).toEqual([width, true])
        }
      }
      await page.setViewportSize({ width: widths[0], height: 900 })
      await unfold(page)
      expect(['unfolded', await spill(page)]).toEqual(['unfolded', 0])
      // The two looks differ in nothing but their colours.
      await page.emulateMedia({ colorScheme: 'dark' })
      expect(['dark', ...(await found(page, { runOnly: colours }))]).toEqual(['dark'])
      await page.emulateMedia({ colorScheme: 'light' })
      expect(complaints.splice(0)).toEqual([])
    })

  for (const [name, path, show] of states)
    test(`${name} passes axe`, async () => {
      const { page } = watched
      await page.setViewportSize({ width: 390, height: 800 })
      await visit(page, server.url, path.replace(':id', items['/decisions/']!))
      await show(page)
      await settled(page)
      expect([await spill(page), ...(await found(page))]).toEqual([0])
      await page.keyboard.press('Escape')
    })
})

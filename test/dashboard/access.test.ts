/** Accessibility of the dashboard: keyboard, screen reader, large text, colours of the system. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import type { Browser, Locator, Page } from 'playwright-core'
import { temporaryDir } from '../support/process.ts'
import { executable, launch, logIn, menuLink, open, settled, shape, spill, tabLink, visit } from './browser.ts'
import { type DashboardPlace, people, startPlace } from './place.ts'

setDefaultTimeout(120_000)
/** A node of the tree that a screen reader is given. */
interface AxNode {
  nodeId: string
  parentId?: string
  ignored: boolean
  role?: { value: string }
  name?: { value: string }
  properties?: { name: string; value: { value: unknown } }[]
}

describe.skipIf(!executable)('the dashboard', () => {
  let dir: string
  let place: DashboardPlace
  let browser: Browser
  let url: string

  beforeAll(async () => {
    dir = await temporaryDir('cstp-access-')
    const [started, launched] = await Promise.all([startPlace(dir, { few: true }), launch()])
    place = started
    browser = launched
    url = place.server.url
  })
  afterAll(async () => {
    await browser?.close()
    await place?.server.kill()
    if (dir) await rm(dir, { recursive: true, force: true })
  })

  const paths = () => [
    ...shape.map(([path]) => path),
    '/decisions?q=cluster',
    `/decisions/${place.pendingId}`,
    '/nowhere',
  ]

  /** Whether the focus is somewhere, and can be seen there. */
  const focusOf = (page: Page) =>
    page.evaluate(() => {
      const active = document.activeElement!
      const { outlineStyle, outlineWidth } = getComputedStyle(active)
      const seen = outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 2
      return { tag: active.tagName, seen, text: (active as HTMLElement).innerText ?? active.textContent ?? '' }
    })
  /** Goes by tab, or back, until the focus is there; every stop on the way can be seen. */
  const reach = async (page: Page, target: Locator, key: 'Tab' | 'Shift+Tab' = 'Tab') => {
    for (let presses = 0; presses < 120; presses++) {
      await page.keyboard.press(key)
      const { tag, seen, text } = await focusOf(page)
      if (tag !== 'BODY') expect([tag, text.slice(0, 40), seen]).toEqual([tag, text.slice(0, 40), true])
      if (await target.evaluate((element) => element === document.activeElement)) return
    }
    throw new Error('not reached by keyboard')
  }
  const atHeading = (page: Page, name: string) =>
    page.waitForFunction(
      (wanted) => document.activeElement?.tagName === 'H1' && document.activeElement.textContent === wanted,
      name,
    )

  test('does every job by keyboard, and the focus is never lost', async () => {
    const { page, context, complaints } = await open(browser)
    const button = (name: string | RegExp) => page.getByRole('button', { name })
    const menu = (name: string) => menuLink(page, name)
    const follow = async (target: Locator, key: 'Tab' | 'Shift+Tab' = 'Tab') => {
      await reach(page, target, key)
      await page.keyboard.press('Enter')
    }
    await page.goto(`${url}/dashboard`)
    await page.getByRole('heading', { name: 'Log in to cstp' }).waitFor()
    expect(await page.title()).toBe('Log in · cstp')
    await reach(page, page.getByLabel('Agent', { exact: true }))
    await page.keyboard.type('root')
    await reach(page, page.getByLabel('Token', { exact: true }))
    await page.keyboard.type('wrong')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').waitFor()
    expect(await page.getByLabel('Token', { exact: true }).evaluate((field) => field === document.activeElement)).toBe(
      true,
    )
    await page.keyboard.press('Control+A')
    await page.keyboard.type(people.root)
    await page.keyboard.press('Enter')
    await atHeading(page, 'Today')

    // The skip link is the first stop, and the next one is in the content.
    await page.reload()
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.keyboard.press('Tab')
    expect((await focusOf(page)).text).toBe('Skip to content')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    expect(await page.evaluate(() => document.activeElement?.closest('main') !== null)).toBe(true)

    for (const [, title, entry, tab] of shape.toReversed()) {
      await follow(menu(entry), 'Shift+Tab')
      await atHeading(page, entry)
      if (tab !== undefined) await follow(tabLink(page, entry, tab), 'Shift+Tab')
      await atHeading(page, title)
      expect(await page.title()).toBe(`${title} · cstp`)
    }

    await follow(menu('Decisions'), 'Shift+Tab')
    await atHeading(page, 'Decisions')
    const question = page.getByLabel('Question or plan')
    await reach(page, question)
    await page.keyboard.type('switch to the cluster')
    await page.keyboard.press('Enter')
    await page.waitForURL(/q=switch/)
    await settled(page)
    expect(await question.evaluate((field) => field === document.activeElement)).toBe(true)
    await follow(page.locator('.hits').getByRole('link', { name: 'Switch regions one by one, a day apart' }))
    await atHeading(page, 'Switch regions one by one, a day apart')
    await page.waitForFunction(() => document.title.startsWith('Switch regions one by one'))
    await settled(page)

    const thought = page.getByLabel('Add a thought')
    await reach(page, thought)
    await page.keyboard.type('Nobody touched a mouse.')
    await follow(button('Add the thought'))
    await page.getByText('Added.').waitFor()
    expect((await focusOf(page)).text).toBe('Add the thought')

    await reach(page, page.getByLabel('What happened'))
    await page.keyboard.type('It was too soon.')
    // A failure asks for its lesson once, and the focus is where it is typed.
    await follow(button('Failure'))
    await page.getByText('Press Failure again').waitFor()
    expect(await page.getByLabel('What to do differently').evaluate((field) => field === document.activeElement)).toBe(
      true,
    )
    await follow(button('Failure'))
    // Taken back, the form has what was typed.
    await page.getByText('failure: saved in 10 seconds').waitFor()
    await follow(button('Undo'))
    expect(await page.getByLabel('What happened').inputValue()).toBe('It was too soon.')
    await reach(page, page.getByLabel('What to do differently'))
    await page.keyboard.type('Wait.')
    await follow(button('Failure'))
    await page.getByText('failure: saved in 10 seconds').waitFor()
    expect(await place.server.call('getDecision', { id: place.pendingId })).toMatchObject({ outcome: null })
    await page.evaluate(() => dispatchEvent(new Event('pagehide')))
    await page.getByText('Reviewed: failure.').waitFor()
    expect(await place.server.call('getDecision', { id: place.pendingId })).toMatchObject({ outcome: 'failure' })

    const before = new URL(page.url()).pathname
    await follow(page.locator('.graph a').nth(1), 'Shift+Tab')
    await page.waitForFunction((path) => location.pathname !== path, before)
    await settled(page)
    expect(await page.title()).not.toContain('Switch regions')
    await atHeading(page, await page.locator('h1').innerText())
    await page.goBack()
    await page.waitForFunction((path) => location.pathname === path, before)
    await atHeading(page, 'Switch regions one by one, a day apart')
    await settled(page)

    await follow(menu('Policy'), 'Shift+Tab')
    await atHeading(page, 'Policy')
    await follow(tabLink(page, 'Policy', 'Breakers'), 'Shift+Tab')
    await atHeading(page, 'Breakers')
    await settled(page)
    const note = () => page.waitForFunction(() => document.activeElement?.getAttribute('role') === 'status')
    await follow(page.getByRole('link', { name: 'stakes:critical' }))
    await atHeading(page, 'Breaker')
    await settled(page)
    await reach(page, page.getByLabel('Why one trial may pass'))
    await page.keyboard.type('The cause is found.')
    await follow(button('Allow one trial'))
    await note()
    await reach(page, page.getByLabel('Why it can be closed'))
    await page.keyboard.type('The cause is fixed.')
    await follow(button('Close breaker'))
    await note()
    expect(await place.server.call('getCircuitState', { scope: 'stakes:critical' })).toMatchObject({ state: 'closed' })

    await follow(menu('Policy'), 'Shift+Tab')
    await atHeading(page, 'Policy')
    await follow(page.locator('summary', { hasText: 'Try an action' }))
    await reach(page, page.getByLabel('Planned action'))
    await page.keyboard.type('Deploy')
    await reach(page, page.getByLabel('Stakes'))
    await page.keyboard.type('crit')
    await follow(button('Try it'))
    await page.getByText(/^(?:Allowed|Denied)\.$/).waitFor()
    expect([(await focusOf(page)).text, await page.getByLabel('Stakes').inputValue()]).toEqual(['Try it', 'critical'])

    await follow(menu('Proof'), 'Shift+Tab')
    await atHeading(page, 'Proof')
    await settled(page)
    await follow(button('Verify the chain'))
    await page.getByText('Intact.').waitFor()
    expect((await focusOf(page)).text).toBe('Verify the chain')
    await follow(button('Export a bundle'))
    await reach(page, button(/^Download evidence/))
    const [download] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('Enter')])
    expect(await download.failure()).toBe(null)
    await follow(page.getByRole('link', { name: 'Prove event 2', exact: true }))
    await page.getByText('Event 2 is in the log').waitFor()
    expect((await focusOf(page)).text).toContain('Event 2')

    await follow(button('Log out'), 'Shift+Tab')
    await atHeading(page, 'Log in to cstp')
    expect(await page.locator('h1').getAttribute('aria-describedby')).toBe('login-note')
    expect(complaints).toEqual([])
    await context.close()
  })

  /** What of a page a screen reader could not say. */
  const unsaid = async (page: Page): Promise<string[]> => {
    const session = await page.context().newCDPSession(page)
    const { nodes } = (await session.send('Accessibility.getFullAXTree')) as { nodes: AxNode[] }
    await session.detach()
    const said = nodes.filter(({ ignored }) => !ignored)
    const of = (role: string) => said.filter((node) => node.role?.value === role)
    const byId = new Map(nodes.map((node) => [node.nodeId, node]))
    const within = (node: AxNode, role: string): AxNode | null => {
      for (let at: AxNode | undefined = node; at; at = at.parentId ? byId.get(at.parentId) : undefined)
        if (!at.ignored && at.role?.value === role) return at
      return null
    }
    const found: string[] = []
    const headings = of('heading')
    const level = (node: AxNode) => node.properties?.find(({ name }) => name === 'level')?.value.value
    if (headings.filter((node) => level(node) === 1).length !== 1) found.push('not one first heading')
    for (const role of ['main', 'banner', 'navigation']) if (of(role).length === 0) found.push(`no ${role}`)
    const named = [
      'button',
      'link',
      'textbox',
      'searchbox',
      'combobox',
      'spinbutton',
      'image',
      'table',
      'region',
      'Date',
    ]
    for (const role of named)
      for (const node of of(role)) if (!node.name?.value.trim()) found.push(`a ${role} without a name`)
    for (const table of of('table')) {
      const inside = (role: string) => of(role).filter((node) => within(node, 'table') === table).length
      const rows = of('row').filter((node) => within(node, 'table') === table).length
      const cells = inside('cell') + inside('rowheader')
      if (inside('columnheader') === 0 || cells !== (rows - 1) * inside('columnheader'))
        found.push(`table ${table.name?.value}: ${inside('columnheader')} heads, ${rows} rows, ${cells} cells`)
    }
    return found
  }

  for (const width of [1280, 360])
    test(`says everything to a screen reader, ${width} px wide`, async () => {
      const { page, context } = await open(browser, { width })
      await logIn(page, url, 'root', people.root)
      for (const path of paths()) {
        await visit(page, url, path)
        // The figures of charts are tables behind a summary.
        for (const summary of await page.getByText('Show as a table').all()) await summary.click()
        expect([path, ...(await unsaid(page))]).toEqual([path])
        for (const chart of await page.locator('svg[role=img]').all()) {
          expect(await chart.getAttribute('aria-label')).toContain('the table below has the figures')
          expect(await page.locator('.panel', { has: chart }).locator('table.dense tbody tr').count()).toBeGreaterThan(
            0,
          )
        }
      }
      await context.close()
    })

  test('tells what an action has led to where it was announced before', async () => {
    const { page, context } = await open(browser)
    await logIn(page, url, 'root', people.root)
    await visit(page, url, '/policy')
    // A live region that comes together with its text is often not read.
    await page.getByRole('region', { name: 'Try an action' }).locator('[role=status]').waitFor({ state: 'attached' })
    await page.getByText('Try an action').click()
    await page.getByLabel('Planned action').fill('Deploy')
    await page.getByLabel('Context as JSON').fill('{')
    await page.getByRole('button', { name: 'Try it' }).click()
    await page.getByRole('alert').waitFor()
    await visit(page, url, '/decisions')
    const status = page.locator('main p[role=status]')
    await status.evaluate((element) => element.setAttribute('data-same', ''))
    await page.getByLabel('Question or plan').fill('cluster')
    await page.keyboard.press('Enter')
    await page.waitForURL(/q=cluster/)
    await settled(page)
    expect(await status.getAttribute('data-same')).toBe('')
    expect(await status.innerText()).toContain('found in')
    await context.close()
  })

  test('keeps what is being typed while an answer comes in', async () => {
    const { page, context } = await open(browser)
    await logIn(page, url, 'root', people.root)
    let answer = () => {}
    const held = new Promise<void>((resolve) => {
      answer = resolve
    })
    await page.route('**/cstp', async (route) => {
      await held
      await route.continue()
    })
    await page.goto(`${url}/dashboard/decisions`)
    await page.getByLabel('Question or plan').fill('What about the')
    answer()
    await page.locator('tbody tr').first().waitFor()
    expect(await page.getByLabel('Question or plan').inputValue()).toBe('What about the')
    await context.close()
  })

  test('says that the service cannot be reached, and continues when it is back', async () => {
    const { page, context } = await open(browser)
    await logIn(page, url, 'root', people.root)
    await page.route('**/cstp', (route) => route.abort())
    await page.goto(`${url}/dashboard/breakers`)
    await page.getByRole('alert').waitFor()
    expect(await page.getByRole('alert').innerText()).toContain('The service cannot be reached. Is it running?')
    await page.unroute('**/cstp')
    await reach(page, page.getByRole('button', { name: 'Try again' }))
    await page.keyboard.press('Enter')
    await page.getByRole('table', { name: 'Circuit breakers' }).waitFor()
    expect(await page.evaluate(() => document.activeElement !== document.body)).toBe(true)
    await page.route('**/dashboard/session', (route) => route.abort())
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByText('You may still be logged in').waitFor()
    await context.close()
  })

  test('flows with letters twice as large', async () => {
    const { page, context } = await open(browser)
    await logIn(page, url, 'root', people.root)
    for (const path of paths()) {
      await visit(page, url, path)
      await page.evaluate(() => {
        document.documentElement.style.fontSize = '200%'
      })
      await settled(page)
      expect([path, await spill(page)]).toEqual([path, 0])
    }
    await context.close()
  })

  test('moves nothing for who asked for that, and is seen in the colours of the system', async () => {
    const { page, context } = await open(browser)
    await logIn(page, url, 'root', people.root)
    await visit(page, url, '/calibration')
    const moving = () =>
      page.evaluate(
        () =>
          [...document.querySelectorAll('*')].filter((element) => {
            const { transitionDuration, animationName } = getComputedStyle(element)
            return transitionDuration !== '0s' || animationName !== 'none'
          }).length,
      )
    expect(await moving()).toBe(0)
    await page.emulateMedia({ forcedColors: 'active' })
    const colours = await page.evaluate(() =>
      ['.track > span', '[aria-current=page]'].map((selector) => {
        const { backgroundColor, backgroundImage } = getComputedStyle(document.querySelector(selector)!)
        return backgroundImage === 'none' && backgroundColor === getComputedStyle(document.body).backgroundColor
      }),
    )
    expect(colours).toEqual([false, false])
    // What a colour says, a word or a sign says too.
    await visit(page, url, `/decisions/${place.pendingId}`)
    const signs = await page.locator('.graph .sign').allTextContents()
    expect(signs.every((sign) => /^[✓✕½–…]$/.test(sign.trim()))).toBe(true)
    expect(signs.length).toBe(await page.locator('.graph .node').count())
    await context.close()
  })
})

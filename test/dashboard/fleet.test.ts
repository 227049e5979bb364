/** The jobs of the dashboard over the fleet's 2 500 decisions, whose truth is known: in a real browser, on one server. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import type { GetBriefingResult, GetCalibrationResult, ReadyResult, TryGuardrailsResult } from '../../sdk/client.ts'
import { type FleetServer, fleetTokens, startFleet } from '../support/fleet.ts'
import { fleet, truths } from '../support/fleet-plan.ts'
import { executable, launch, logIn, open, settled, violations, visit, type Watched } from './browser.ts'

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

  const menu = (name: string) =>
    page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true })
  /** The number at the start of a text. */
  const numberIn = (text: string): number => Number(/[\d,]+/.exec(text)![0].replaceAll(',', ''))
  const listed = async (): Promise<number> => {
    await settled(page)
    const text = await page.locator('main p[role=status]').first().innerText()
    // A question says how many fit before it says among how many.
    return numberIn(text.split(' among ').at(-1)!)
  }

  test('trust at critical stakes is one click away, and its cells are those of the method', async () => {
    await visit(page, server.url, '')
    await menu('Agents').click()
    await page.getByRole('heading', { level: 1, name: 'Agents' }).waitFor()
    await settled(page)
    expect(await page.locator('.lead').first().innerText()).toMatch(
      new RegExp(
        `^Decisions of ${truths.drifting.agent}: in the last 30 days \\d+ % of \\d+ came true .*, before \\d+ % of`,
      ),
    )
    const report = (await server.call('getCalibration', { cells: 'agent_stakes' })) as unknown as GetCalibrationResult
    const table = page.getByRole('table', { name: 'Agents by stakes' })
    const rows = await table.locator('tbody tr').all()
    const columns = ['critical', 'high', 'medium', 'low', null]
    expect(rows.length).toBe(fleet.length + 1)
    for (const row of rows) {
      const [name, ...texts] = await row.locator('td').allInnerTexts()
      for (const [at, column] of columns.entries()) {
        const cell = report.cells.find(
          (one) => one.agent === (name === 'All' ? null : name!) && one.stakes === column && one.category === null,
        )!
        const shown = texts[at]!.replace(/\s+/g, ' ')
        const percent = (share: number) => `${(100 * share).toFixed(0)} %`
        expect(shown).toStartWith(`said ${percent(cell.mean_confidence)} came true ${percent(cell.accuracy)}`)
        expect(shown).toContain(`n ${cell.scored.toLocaleString('en')}`)
        expect([name, column, /overconfident/.test(shown)]).toEqual([name!, column, (cell.proven?.high ?? 1) < 0])
        if (cell.trend) expect(shown.includes('worsening')).toBe(cell.trend.direction === 'worsening')
      }
    }
    quiet()
  })

  test('every headline says what is proven of the known truth, and none contradicts another', async () => {
    const lead = async (path: string): Promise<string> => {
      await visit(page, server.url, path)
      return page.locator('.lead').first().innerText()
    }
    const verdict = () =>
      page
        .locator('.figure', { hasText: /^(?:Verdict|Confidence)/ })
        .locator('strong')
        .first()
        .innerText()
    const { hidden, drifting, improving } = truths
    const [everywhere, agents] = [await lead('/calibration'), await lead('/agents')]
    expect(everywhere).toStartWith(`Decisions of ${drifting.agent}: `)
    expect(agents).toBe(everywhere)
    await visit(page, server.url, '/calibration?window=30d')
    expect(await page.locator('.lead').first().innerText()).toBe(everywhere)
    // Whether its 30 decisions alone prove it depends on the hour: the days are whole UTC days.
    expect(['overconfident', 'to watch']).toContain(await verdict())
    // The agent that fell does more harm now than the one that was always off at critical stakes.
    await visit(page, server.url, '')
    expect(await page.getByRole('region', { name: 'Getting worse' }).innerText()).toContain(`${drifting.agent}: `)
    expect(await lead(`/calibration?agent=${hidden.agent}`)).toContain(
      `Decisions of ${hidden.agent} at ${hidden.stakes} stakes: in the last 30 days`,
    )
    // Calibrated on the whole, and far off lately: neither the verdict nor the advice says that all is well.
    expect(await lead(`/calibration?agent=${drifting.agent}`)).toContain(
      `Decisions of ${drifting.agent}: in the last 30 days`,
    )
    expect(await verdict()).toBe('overconfident lately')
    const advice = await page.getByRole('region', { name: 'What to do' }).innerText()
    expect(advice).toContain('less confidence')
    expect(advice).not.toContain('keep stating')
    // What got better has no sign of drift.
    expect(await lead(`/calibration?agent=${improving.agent}`)).not.toContain('Proven')
    expect(await page.locator('path.drifted').count()).toBe(0)
    expect(await lead('/calibration?agent=planner')).toContain('No agent, category or stakes is proven to be off.')
    expect(await verdict()).toBe('well calibrated')
    quiet()
  })

  test('Today has at most 40 items, says what its sample tells, and back scrolls to where it was', async () => {
    await visit(page, server.url, '?period=all')
    const waits = page.getByRole('region', { name: 'Waits for you' })
    const items = await waits.locator('li').count()
    expect(items).toBeGreaterThan(12)
    expect(items).toBeLessThanOrEqual(40)
    expect(await waits.innerText()).toMatch(/These 12 of \d+ due reviews tell \d+ % of what all would tell/)
    const stops = page.getByRole('table', { name: 'Stopped actions' })
    const link = stops.locator('tbody tr').last().getByRole('link').last()
    await link.scrollIntoViewIfNeeded()
    const at = await page.evaluate(() => Math.round(scrollY))
    expect(at).toBeGreaterThan(300)
    await link.click()
    await page.waitForURL(/blocks/)
    await page.goBack()
    await page.waitForFunction((wanted) => Math.abs(scrollY - wanted) < 200, at)
    quiet()
  })

  test('a request names its agent and record once, whatever else it asks for, and the soonest is first', async () => {
    const soonest = [4714, 4713, 4712, 4711].map((number) => `Pay invoice ${number}`)
    await visit(page, server.url, '')
    const [asked, ...others] = await page.getByRole('region', { name: 'Waits for you' }).locator('li').allInnerTexts()
    expect([...asked!.matchAll(/Pay invoice \d+/g)].map(([name]) => name)).toEqual(soonest)
    expect(asked!.match(/came true/g)?.length).toBe(2)
    expect(others.join()).not.toContain('Pay invoice')
    await visit(page, server.url, '/inbox')
    expect(await page.getByRole('table', { name: 'Waiting for approval' }).locator('tbody a').allInnerTexts()).toEqual(
      soonest,
    )
    quiet()
  })

  test('what changed opens lists with as many, and a decision is named by its title', async () => {
    const changed = page.getByRole('region', { name: 'What changed' })
    for (const path of ['?period=24h', '?period=7d', '?period=30d&agent=migrator', '?period=all&agent=migrator']) {
      await visit(page, server.url, path)
      const links = changed.getByRole('link', { name: /decisions?$|reviewed$|failed$/ })
      expect([path, await links.count()]).toEqual([path, 3])
      for (let at = await links.count(); at > 0; at--) {
        const wanted = numberIn(await links.nth(at - 1).innerText())
        await links.nth(at - 1).click()
        await page.waitForURL(/decisions\?/)
        expect([path, at, await listed()]).toEqual([path, at, wanted])
        await page.goBack()
        await settled(page)
      }
    }
    const isId = /^\d{4}-\d\d-\d\d-decision-/
    for (const [path, name] of [
      ['?period=all', 'What changed'],
      ['/deliberation', 'Used by decisions'],
    ] as const) {
      await visit(page, server.url, path)
      const region = page.getByRole('region', { name })
      if (path !== '/deliberation') await region.locator('summary').click()
      const titles = await region.locator('a[dir]').allInnerTexts()
      expect([path, titles.length > 5, titles.filter((title) => isId.test(title))]).toEqual([path, true, []])
    }
    quiet()
  })

  test('the chart has the figures of the method, marks the weeks in which rules changed, and the week that is not over', async () => {
    await visit(page, server.url, '')
    const panel = page.getByRole('region', { name: 'Getting worse' })
    await panel.getByText('Show as a table').click()
    const { weeks } = (await server.call('getBriefing', {})) as unknown as GetBriefingResult
    const rows = await panel.locator('tbody tr').all()
    expect(rows.length).toBe(weeks.length)
    for (const [at, row] of rows.entries()) {
      const [scored, rate, , notes] = await row.locator('td').allInnerTexts()
      const week = weeks[at]!
      expect(numberIn(scored!)).toBe(week.scored)
      expect(rate).toBe(week.rate === null ? '–' : `${(100 * week.rate).toFixed(0)} %`)
      expect(notes!.includes('rules changed')).toBe(week.rules_changed)
      expect(notes!.includes('not over')).toBe(!week.complete)
    }
    expect(await panel.locator('path.mark').count()).toBe(weeks.filter(({ rules_changed }) => rules_changed).length)
    quiet()
  })

  test('the chosen period is kept from page to page', async () => {
    await visit(page, server.url, '')
    await page.getByLabel('Period').selectOption('30d')
    await page.waitForURL(/period=30d/)
    await settled(page)
    await menu('Agents').click()
    await page.getByRole('heading', { level: 1, name: 'Agents' }).waitFor()
    expect(await page.getByLabel('Period').inputValue()).toBe('30d')
    await page.getByLabel('Period').selectOption('all')
    await settled(page)
    quiet()
  })

  test('several items are snoozed at once, for this browser, and shown again', async () => {
    await visit(page, server.url, '')
    const reviews = page.locator('.inbox').last()
    const before = await reviews.locator('li').count()
    for (const at of [0, 1]) await reviews.getByRole('checkbox').nth(at).check()
    await page.getByRole('button', { name: 'Snooze for a week' }).click()
    await page.getByText('2 items snoozed for a week').waitFor()
    expect(await reviews.locator('li').count()).toBe(before - 2)
    await page.getByRole('button', { name: 'Show again' }).click()
    expect(await reviews.locator('li').count()).toBe(before)
    // What is chosen stays within reach while another review can be taken back, on a phone too.
    await page.setViewportSize({ width: 390, height: 844 })
    await reviews.getByRole('checkbox').first().check()
    await reviews
      .getByRole('button', { name: /^Review/ })
      .nth(1)
      .click()
    await page.getByRole('form', { name: 'Review' }).getByRole('button', { name: 'Partial' }).click()
    await page.getByText('partial: saved in 10 seconds').waitFor()
    const [bulk, undo] = await Promise.all([page.locator('.bulk').boundingBox(), page.locator('.undo').boundingBox()])
    expect(bulk!.y + bulk!.height).toBeLessThanOrEqual(undo!.y)
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.setViewportSize({ width: 1_280, height: 900 })
    await settled(page)
    quiet()
  })

  test('the trail says what stopped an action, what only warned, and which breaker was reset; logins do not drown it', async () => {
    await server.call('resetCircuit', { scope: 'tag:nightly', reason: 'The import is fixed' })
    await visit(page, server.url, '/policy')
    const trail = page.getByRole('region', { name: 'Audit trail' })
    const first = trail.locator('tbody tr').first()
    expect(await first.innerText()).toContain(
      'scope: tag:nightly, previous state: half_open, new state: closed, reason: The import is fixed',
    )
    expect(await trail.innerText()).not.toContain('dashboard.login')
    // Decisions have titles and requests their code, ids are among the details.
    expect(await trail.getByRole('link', { name: 'Switch region 3 to the new checkout' }).count()).toBe(2)
    expect(await trail.getByRole('link', { name: /^request [0-9A-Z-]+$/ }).count()).toBe(4)
    expect(await trail.innerText()).not.toMatch(/-(?:decision|evaluation)-[0-9a-f]/)
    const rules = page.getByRole('region', { name: 'Rules', exact: true })
    expect(await rules.locator('table').first().locator('tbody tr').count()).toBe(3)
    await rules.getByText(/^\d+ rules that did not fire in this period$/).click()
    await rules.locator('td code', { hasText: /^irreversible\.fork-bomb$/ }).waitFor()
    await visit(page, server.url, '/guardrails?rule=irreversible-without-plan')
    const verdicts = await trail.locator('td[data-label=Verdict]').allInnerTexts()
    const fired = await trail.locator('td[data-label=Rules]').allInnerTexts()
    for (const [at, verdict] of verdicts.entries())
      expect(fired[at]).toBe(
        verdict === 'deny'
          ? 'stopped by unsure-at-critical-stakes\nwarned by irreversible-without-plan'
          : 'warned by irreversible-without-plan',
      )
    await first.getByText('cstp.').click()
    expect(await first.locator('pre').innerText()).toContain('policy_hash:')
    await page.getByRole('link', { name: 'Show logins too' }).click()
    await page.waitForURL(/logins=yes/)
    quiet()
  })

  test('every count of trust opens a list with as many', async () => {
    for (const [by, period] of [
      ['agent_stakes', ''],
      ['category_stakes', '90d'],
    ] as const) {
      const path = `/agents?by=${by}&window=${period}`
      await visit(page, server.url, path)
      const links = page.locator('.cell a')
      const count = await links.count()
      for (const at of [0, Math.floor(count / 2), count - 1]) {
        await visit(page, server.url, path)
        const wanted = numberIn((await links.nth(at).innerText()).replace('n ', ''))
        await links.nth(at).click()
        await page.waitForURL(/scored=yes/)
        expect([by, at, await listed()]).toEqual([by, at, wanted])
      }
    }
    quiet()
  })

  test('the buttons of an agent say how many failures and reviews they lead to', async () => {
    const table = page.getByRole('table', { name: 'May they decide alone?' })
    const links = table.getByRole('link', { name: /^its \d+ failures$|^Review \d+ of its \d+$/ })
    await visit(page, server.url, '/agents')
    const texts = await links.allInnerTexts()
    const review = texts.findIndex((text) => text.startsWith('Review'))
    expect([texts.filter((text) => text.startsWith('its')).length, review >= 0]).toEqual([fleet.length, true])
    await links.first().click()
    await page.waitForURL(/outcome=failure/)
    expect(await listed()).toBe(numberIn(texts[0]!))
    await visit(page, server.url, '/agents')
    await links.nth(review).click()
    await page.waitForURL(/agent=/)
    await settled(page)
    const [shown, of] = /Review (\d+) of its (\d+)/.exec(texts[review]!)!.slice(1)
    const waits = await page.getByRole('region', { name: 'Waits for you' }).innerText()
    expect(waits).toMatch(shown === of ? `${of} reviews due.` : `These ${shown} of ${of} due reviews tell`)
    quiet()
  })

  test('the cause and the remedy of a block are two clicks away from Today', async () => {
    await visit(page, server.url, '')
    const blocks = page.getByRole('table', { name: 'Stopped actions' })
    await blocks.getByRole('link', { name: 'Switch region 7 to the new checkout' }).click()
    await page.getByRole('heading', { level: 1, name: 'Switch region 7 to the new checkout' }).waitFor()
    await settled(page)
    const why = await page.getByRole('region', { name: 'Why, and what would allow it' }).innerText()
    expect(why).toContain('The circuit breaker category:deployment is open after 3 failures')
    expect(why).toContain('What would allow it: Find out what fails')
    expect(await page.getByRole('region', { name: 'Inputs', exact: true }).innerText()).toContain('build: 318')
    await page.getByRole('link', { name: 'What opened this breaker' }).click()
    await page.getByRole('heading', { level: 1, name: 'Breaker' }).waitFor()
    await settled(page)
    const opened = page.getByRole('region', { name: 'What opened it' })
    const { opened_by } = (await server.call('getCircuitState', { scope: 'category:deployment' })) as {
      opened_by: object[]
    }
    expect(await opened.getByRole('link').allInnerTexts()).toEqual(
      [1, 2, 3].map((region) => `Switch region ${region} to the new checkout`),
    )
    expect(opened_by.length).toBe(3)
    const blocked = page.getByRole('table', { name: 'Denied since' })
    expect(await blocked.locator('tbody tr').count()).toBe(4)
    const countdown = page.locator('.countdown').first()
    const before = await countdown.innerText()
    await page.waitForFunction((text) => document.querySelector('.countdown')?.textContent !== text, before)
    quiet()
  })

  test('a block by a rule shows its text, how like ones ended, and is tried again with its inputs', async () => {
    const { entries } = (await server.call('listAudit', {
      rule: 'unsure-at-critical-stakes',
      allowed: false,
      limit: 1,
    })) as {
      entries: { seq: number }[]
    }
    await visit(page, server.url, `/blocks/${entries[0]!.seq}`)
    const why = page.getByRole('region', { name: 'Why, and what would allow it' })
    expect(await why.innerText()).toContain('It applies when stakes = critical and confidence < 0.5.')
    await why.getByText('Text of the rule (fleet.yaml').click()
    expect(await why.locator('pre').innerText()).toContain('id: unsure-at-critical-stakes')
    const similar = page.getByRole('region', { name: 'Similar blocks' })
    expect(new Set(await similar.locator('td[data-label=Ended]').allInnerTexts())).toEqual(new Set(['allow']))
    const again = page.getByRole('region', { name: 'Try again with these inputs' })
    await again.getByRole('button', { name: 'Try it' }).click()
    await again.getByText('Denied.').waitFor()
    await again.getByLabel('Confidence in %').fill('80')
    await again.getByRole('button', { name: 'Try it' }).click()
    await again.getByText('Allowed.').waitFor()
    quiet()
  })

  test('the inbox holds every item, the newest first, and one key reviews', async () => {
    await visit(page, server.url, '/inbox')
    const ready = (await server.call('ready', { limit: 1 })) as unknown as ReadyResult
    const waiting = (await server.call('listApprovals', { state: 'pending' })) as { total: number }
    const total = ready.total + waiting.total
    expect(await listed()).toBe(total)
    const options = await page.getByLabel('Type').locator('option').allInnerTexts()
    expect(options).toEqual([
      `all (${total})`,
      `Waiting for approval (${waiting.total})`,
      `Review due (${ready.by_type.review_outcome})`,
      `Overdue review (${ready.by_type.stale_pending})`,
      `Calibration drift (${ready.by_type.calibration_drift})`,
      `Breaker open (${ready.by_type.open_breaker})`,
      `Contradiction (${ready.by_type.contradiction ?? 0})`,
    ])
    // Every item is a link, and the last one is that of 26 years ago; each names its agent.
    const items = page.locator('.inbox > li')
    for (const item of await items.all()) expect(await item.getByRole('link').count()).toBeGreaterThan(0)
    await visit(page, server.url, `/inbox?page=${Math.ceil(ready.total / 50)}`)
    expect(await items.last().innerText()).toMatch(
      /Keep years with four digits\s*librarian · architecture · Pending for 9/,
    )
    await page.getByLabel('Type').selectOption('review_outcome')
    await page.waitForURL(/type=review_outcome/)
    expect(await listed()).toBe(ready.by_type.review_outcome!)
    const first = items.first().getByRole('link')
    await first.focus()
    await page.keyboard.press('j')
    expect(
      await items
        .nth(1)
        .getByRole('link')
        .evaluate((one) => one === document.activeElement),
    ).toBe(true)
    await page.keyboard.press('k')
    const href = (await first.getAttribute('href'))!
    await page.keyboard.press('r')
    await page.waitForFunction(() => document.activeElement?.getAttribute('name') === 'actual_result')
    await page.keyboard.type('It was taken back.')
    await page.keyboard.press('Tab')
    await page.keyboard.type('Ask first.')
    // No outcome is preset: Enter in a text saves nothing, the third button is the failure.
    await page.keyboard.press('Enter')
    for (let tabs = 0; tabs < 3; tabs++) await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByText('failure: saved in 10 seconds').waitFor()
    await page.evaluate(() => dispatchEvent(new Event('pagehide')))
    await page.getByText('Reviewed: failure.').waitFor()
    await settled(page)
    expect(await listed()).toBe(ready.by_type.review_outcome! - 1)
    const id = decodeURIComponent(href.slice(href.lastIndexOf('/') + 1))
    expect(await server.call('getDecision', { id })).toMatchObject({ outcome: 'failure', reviewed_by: 'root' })
    quiet()
  })

  test('a search says why each decision was found, how well it fits, and where chance begins', async () => {
    const query = 'why deploy the new payment gateway'
    await visit(page, server.url, '/decisions')
    await page.getByLabel('Question or plan').fill(query)
    await page.keyboard.press('Enter')
    await page.waitForURL(/q=why/)
    await settled(page)
    const count = numberIn(await page.locator('main p[role=status]').first().innerText())
    const hits = page.locator('.hits > li')
    const marked = new Set((await page.locator('.hits mark').allInnerTexts()).map((word) => word.toLowerCase()))
    expect([marked.has('why'), marked.has('the'), marked.size > 0]).toEqual([false, false, true])
    const answer = (await server.call('queryDecisions', { query, retrieval_mode: 'hybrid', limit: 25 })) as {
      precedents: number
      total: number
    }
    expect(count).toBe(answer.precedents)
    expect(count).toBeGreaterThan(0)
    expect(await page.locator('main p[role=status]').first().innerText()).toContain(
      `among ${answer.total.toLocaleString('en')} decisions`,
    )
    expect(await hits.locator('.cut').count()).toBe(answer.precedents < 25 ? 1 : 0)
    expect(await page.locator('.hits > .beyond').count()).toBe(25 - answer.precedents)
    expect(
      await hits
        .first()
        .getByText(/^Relevance \d/)
        .count(),
    ).toBe(1)
    expect(await page.locator('.scores').count()).toBe(0)
    await page.getByRole('button', { name: 'Show scores' }).click()
    expect(await page.locator('.scores').count()).toBe(25)
    await hits.first().getByRole('link').first().click()
    await page.waitForURL(/decisions\/\d/)
    await settled(page)
    quiet()
  })

  test('every count of a facet is that of the list it opens; chips and names in any case narrow it', async () => {
    for (const start of ['/decisions', '/decisions?q=rollback+plan&stakes=critical']) {
      await visit(page, server.url, start)
      const facets = page.getByRole('navigation', { name: 'Narrow the list' })
      const texts = await facets.locator('li').allInnerTexts()
      const pending = texts.findIndex((text) => text.startsWith('pending'))
      for (const at of [0, pending, texts.length - 1]) {
        const choice = facets.locator('li').nth(at)
        const count = numberIn(await choice.locator('.quiet').innerText())
        await choice.getByRole('link').click()
        expect([start, at, await listed()]).toEqual([start, at, count])
        await visit(page, server.url, start)
      }
    }
    await visit(page, server.url, '/decisions')
    const all = await listed()
    await page.locator('summary', { hasText: 'Filters' }).click()
    await page.getByLabel('Agent', { exact: true }).fill('MIGRATOR')
    await page.getByRole('button', { name: 'Apply filters' }).click()
    await page.waitForURL(/agent=migrator/)
    expect(await listed()).toBeLessThan(all)
    await page.getByRole('link', { name: 'Remove the filter Agent: migrator' }).click()
    expect(await listed()).toBe(all)
    quiet()
  })

  test('a table as a file has every row of its method, not only the page that is shown', async () => {
    const rowsOf = async (path: string, region: string): Promise<string[][]> => {
      await visit(page, server.url, path)
      const within = region === '' ? page.locator('main') : page.getByRole('region', { name: region })
      const button = within.getByRole('button', { name: 'Download CSV' })
      const [download] = await Promise.all([page.waitForEvent('download'), button.first().click()])
      const [, ...lines] = (await Bun.file(await download.path()).text()).trimEnd().split('\r\n')
      return lines.map((line) => line.split(','))
    }
    const { total, by_type } = (await server.call('ready', { limit: 1 })) as unknown as ReadyResult
    const inbox = await rowsOf('/inbox', 'To review and to settle')
    expect([inbox.length, inbox.length > 200]).toEqual([total, true])
    expect(inbox.filter(([type]) => type === 'stale_pending').length).toBe(by_type.stale_pending!)
    const { entries } = (await server.call('listAudit', { rule: 'irreversible-without-plan', limit: 500 })) as {
      entries: { seq: number; agent: string; method: string }[]
    }
    expect(entries.length).toBeGreaterThan(25)
    const trail = await rowsOf('/guardrails?rule=irreversible-without-plan', 'Audit trail')
    expect(trail.map(([seq, , agent, method]) => [Number(seq), agent!, method!])).toEqual(
      entries.map(({ seq, agent, method }) => [seq, agent, method]),
    )
    const counts = (await server.call('getStats', {})) as { total: number }
    expect((await rowsOf('/decisions', '')).length).toBe(counts.total)
    const waiting = (await server.call('listApprovals', { limit: 1 })) as { total: number }
    expect((await rowsOf('/approvals?state=all', '')).length).toBe(waiting.total)
    const chain = (await server.call('listEvidence', { order: 'desc', limit: 1 })) as { events: { seq: number }[] }
    expect((await rowsOf('/proof', 'Events')).length).toBe(chain.events[0]!.seq)
    const { overall } = (await server.call('getCalibration', { agent: 'planner' })) as unknown as GetCalibrationResult
    const agents = await rowsOf('/calibration', 'By agent')
    expect(
      agents
        .find(([name]) => name === 'planner')!
        .slice(1, 3)
        .map(Number),
    ).toEqual([overall.scored, overall.accuracy!])
    quiet()
  })

  test('what lacks evidence is grouped by its reason, and the proof of an event is on top of its page', async () => {
    await visit(page, server.url, '/proof')
    const { insufficient_evidence: lacks } = (await server.call('mapControls', {})) as {
      insufficient_evidence: { seq: number; reason: string }[]
    }
    const groups = page.getByRole('region', { name: 'Insufficient evidence' }).locator('ul.plain > li')
    expect(await groups.count()).toBe(new Set(lacks.map(({ reason }) => reason)).size)
    await groups.first().locator('summary').click()
    await groups.first().getByRole('link').first().click()
    await page.waitForURL(/proof=\d+/)
    await settled(page)
    expect(await page.locator('main h2').first().innerText()).toContain('Proof')
    quiet()
  })

  test('the palette goes to pages, decisions and saved views by keys alone', async () => {
    await visit(page, server.url, '/decisions?stakes=critical')
    await page.keyboard.press('/')
    const field = page.getByRole('combobox', { name: 'Go to' })
    await field.fill('Critical ones')
    await page.getByRole('option', { name: 'Save this view as “Critical ones”' }).click()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('agents')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/agents$/)
    await page.keyboard.press('Control+k')
    await page.keyboard.type('critical')
    await page.getByRole('option', { name: 'Critical ones saved view' }).click()
    await page.waitForURL(/decisions\?stakes=critical$/)
    await page.keyboard.press('Control+k')
    await page.keyboard.type('run the nightly import in smaller parts')
    const found = page.getByRole('option', { name: /^Run the nightly import in smaller parts/ })
    await found.waitFor()
    expect((await violations(page, { within: 'dialog' })).map(({ id }) => id)).toEqual([])
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Escape')
    expect(await field.isVisible()).toBe(false)
    await page.keyboard.press('/')
    await page.keyboard.type('nightly import')
    await page.keyboard.press('Enter')
    await page.waitForURL(/q=nightly/)
    await settled(page)
    quiet()
  })

  test('an agent that should not decide alone has a button that opens the workbench with the rule written and tried', async () => {
    await visit(page, server.url, '/agents')
    const table = page.getByRole('table', { name: 'May they decide alone?' })
    const row = table.getByRole('row', { name: new RegExp(`^${truths.hidden.agent} `) })
    expect(await row.innerText()).toContain('alone below critical')
    await row.getByRole('link', { name: 'Ask a person at critical' }).click()
    await page.waitForURL(/draft=/)
    const bench = page.getByRole('region', { name: 'Workbench' })
    expect(await bench.getByLabel('Rules as YAML').inputValue()).toContain(`id: ask-for-${truths.hidden.agent}`)
    await bench.getByText(/it catches \d+ failures and costs \d+ success/).waitFor()
    await settled(page)
    quiet()
  })

  test('the palette leads to an agent by name and to a decision by its id; an address with a part scrolls there', async () => {
    const { decisions } = (await server.call('listDecisions', { limit: 1 })) as { decisions: { id: string }[] }
    await visit(page, server.url, '')
    await page.getByRole('button', { name: /^Search or go to/ }).click()
    await page.keyboard.type(decisions[0]!.id)
    await page.getByRole('option', { name: /^Decision 2/ }).click()
    await page.waitForURL(new RegExp(decisions[0]!.id))
    await page.keyboard.press('Control+k')
    await page.keyboard.type('migr')
    await page.getByRole('option', { name: /^migrator agent/ }).click()
    await page.waitForURL(/calibration\?agent=migrator/)
    // The code of a request is read as the service reads it: in any case, without its dash.
    const { approvals } = (await server.call('listApprovals', { limit: 1 })) as { approvals: { id: string }[] }
    await page.keyboard.press('Control+k')
    await page.keyboard.type(approvals[0]!.id.replace('-', '').toLowerCase())
    await page.getByRole('option', { name: /^Approval / }).click()
    await page.getByRole('heading', { level: 1, name: 'Pay invoice' }).waitFor()
    await visit(page, server.url, `/decisions/${decisions[0]!.id}#deliberation`)
    await page.waitForFunction(() => scrollY > 100)
    quiet()
  })

  test('a row of a list is one line beside the menu, with room for its title, and no column sticks out', async () => {
    for (const width of [1_024, 1_280]) {
      await page.setViewportSize({ width, height: 900 })
      await visit(page, server.url, '')
      const review = page.locator('.inbox > .short').last()
      const [row, subject] = await Promise.all([review.boundingBox(), review.locator('p').first().boundingBox()])
      expect([width, row!.height <= 38, subject!.width >= 240]).toEqual([width, true, true])
      await visit(page, server.url, '/decisions?outcome=abandoned')
      const title = await page.locator('tbody td').first().boundingBox()
      expect([width, title!.height <= 38, title!.width >= 240]).toEqual([width, true, true])
      const box = page.locator('.scroll')
      expect([width, await box.evaluate((one) => one.scrollWidth - one.clientWidth)]).toEqual([width, 0])
    }
    quiet()
  })

  test('a rule is tried and back-tested while it is typed, and put in shadow mode', async () => {
    await menu('Policy').click()
    await settled(page)
    const bench = page.getByRole('region', { name: 'Workbench' })
    await bench.getByRole('button', { name: 'Take an example' }).click()
    const rules = await bench.getByLabel('Rules as YAML').inputValue()
    await page.waitForURL(/draft=.*unsure-at-high-stakes/)
    await settled(page)
    await bench.getByRole('table', { name: 'On decisions whose outcome is known' }).waitFor()
    const { replay, backtest } = (await server.call('tryGuardrails', { rules })) as unknown as TryGuardrailsResult
    expect(backtest!.stopped.decisions).toBeGreaterThan(0)
    expect(await bench.innerText()).toContain(`of ${replay!.evaluations.toLocaleString('en')} checks`)
    expect(new URL(page.url()).searchParams.get('draft')).toBe(rules)
    const row = await bench.getByRole('row', { name: /Stopped by any of them/ }).innerText()
    expect(row.split(/\s+/)).toContain(backtest!.stopped.decisions.toLocaleString('en'))
    await bench.getByRole('button', { name: 'Put in shadow mode' }).click()
    await bench.getByText('Now in shadow mode: unsure-at-high-stakes (shadow-unsure-at-high-stakes.yaml).').waitFor()
    const action = { description: 'Delete the cache', stakes: 'high', confidence: 0.6, category: 'tooling' }
    const { would_block } = await server.call('checkGuardrails', { action, dry_run: true })
    expect(would_block).toEqual(['unsure-at-high-stakes'])
    // From shadow to force by a file that loads, and says who wanted it.
    const inShadow = page.getByRole('row', { name: /unsure-at-high-stakes/ })
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      inShadow.getByRole('button', { name: 'Put in force …' }).click(),
    ])
    const forced = await Bun.file(await file.path()).text()
    expect(forced).toStartWith('# unsure-at-high-stakes: put in force by root, ')
    expect(await server.call('tryGuardrails', { rules: forced })).toMatchObject({
      errors: [],
      rules: [{ action: 'block' }],
    })
    expect(forced).not.toContain('shadow')
    await bench.getByLabel('Rules as YAML').fill('- { id: x, action: block, condition_stake: high, message: m }')
    await bench.getByText('did you mean stakes?').waitFor()
    await bench.getByLabel('Rules as YAML').fill('- { id: x, action: explode, message: m }')
    await bench
      .getByText(/^Line 1: /)
      .first()
      .waitFor()
    const inForce = page.getByRole('table', { name: 'Rules', exact: true })
    await inForce
      .getByText(/^Applies when stakes/)
      .first()
      .click()
    // Rules of the packs in force come before it; only the opened one shows its YAML.
    expect(await inForce.locator('pre:visible').innerText()).toContain('unsure-at-critical-stakes')
    quiet()
  })
})

/** The dashboard's jobs by keyboard alone, in the clicks that they claim. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import { type FleetServer, fleetTokens, startFleet } from '../support/fleet.ts'
import { executable, launch, logIn, open, visit, type Watched } from './browser.ts'
import { jobs, keyboard, mouse, roleJobs } from './jobs.ts'

setDefaultTimeout(120_000)

const tokens: Record<string, string> = {
  ...fleetTokens,
  lead: 'lead-token-of-the-fleet',
  auditor: 'auditor-token-of-the-fleet',
}

describe.skipIf(!executable)('the jobs of the dashboard', () => {
  let server: FleetServer
  let browser: Browser
  let watched: Watched

  beforeAll(async () => {
    ;[server, browser] = await Promise.all([
      startFleet({
        CSTP_AUTH_TOKENS: Object.entries(tokens)
          .map((pair) => pair.join(':'))
          .join(','),
        CSTP_LEADS: 'lead',
        CSTP_AUDITORS: 'auditor',
      }),
      launch(),
    ])
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

  for (const [who, own] of Object.entries(roleJobs))
    test(`${who} has the answer to each question within two clicks of Today`, async () => {
      const { page, context, complaints } = await open(browser)
      await logIn(page, server.url, who, tokens[who]!)
      for (const { name, clicks, run } of own) {
        await visit(page, server.url, '')
        const hands = mouse(page)
        const answer = await run(hands)
        await answer.first().waitFor()
        expect([name, hands.clicks]).toEqual([name, clicks])
        expect(clicks).toBeLessThanOrEqual(2)
      }
      expect(complaints).toEqual([])
      await context.close()
    })

  test('calls that ran unchecked are on Today and on the page of their agent, which alone sees them else', async () => {
    const body = {
      session_id: 's1',
      cwd: '/srv/shop',
      transcript_path: '/tmp/t',
      permission_mode: 'default',
      hook_event_name: 'PostToolUse',
      tool_name: 'Bash',
      tool_input: { command: 'ls' },
      tool_use_id: 'toolu_1',
      tool_response: { stdout: '' },
    }
    const headers = { authorization: `Bearer tester:${tokens.tester}`, 'content-type': 'application/json' }
    await fetch(`${server.url}/hooks/claude-code`, { method: 'POST', headers, body: JSON.stringify(body) })
    for (const [who, sees] of [
      ['auditor', 2],
      ['tester', 2],
      ['lead', 0],
    ] as const) {
      const { page, context } = await open(browser)
      await logIn(page, server.url, who, tokens[who]!)
      let count = 0
      for (const path of ['?period=24h', '/calibration?agent=tester']) {
        await visit(page, server.url, path)
        count += await page.getByText('tester: 1 call ran unchecked, 1 session without any check').count()
      }
      expect([who, count]).toEqual([who, sees])
      await context.close()
    }
  })

  test('what a role may not do names who may', async () => {
    const { approvals } = (await server.call('listApprovals', { state: 'pending', limit: 1 })) as {
      approvals: { id: string }[]
    }
    const { entries } = (await server.call('listAudit', { allowed: false, limit: 1 })) as { entries: { seq: number }[] }
    const breaker = '/breakers/category%3Adeployment'
    const says: Record<string, [path: string, text: string][]> = {
      lead: [
        [breaker, 'To reset a breaker your agent needs the scope admin.'],
        ['/tools', 'To accept a tool your agent needs the scope admin.'],
        ['/record', 'To write decisions your agent needs the scope write.'],
        ['/proof', 'To export a bundle your agent needs the scope evidence.'],
        // It reviews and sees every stop: nothing is missing there, and nothing is refused.
        ['/inbox', 'r reviews, a accepts what evidence proposes.'],
        [`/blocks/${entries[0]!.seq}`, 'Similar blocks'],
      ],
      auditor: [
        [`/approvals/${approvals[0]!.id}`, 'needs the scope approve; the operator of this service grants it.'],
        ['/inbox', 'To review, your agent needs the scope write or curate.'],
        [breaker, 'To reset a breaker your agent needs the scope admin.'],
      ],
      planner: [
        ['/approvals', 'To decide requests your agent needs the scope approve.'],
        [breaker, 'Those of others need the scope admin or audit.'],
      ],
    }
    for (const [who, pages] of Object.entries(says)) {
      const { page, context, complaints } = await open(browser)
      await logIn(page, server.url, who, tokens[who]!)
      for (const [path, text] of pages) {
        await visit(page, server.url, path)
        expect([who, path, await page.locator('main').innerText()]).toEqual([who, path, expect.stringContaining(text)])
        expect([who, path, await page.getByRole('alert').count()]).toEqual([who, path, 0])
      }
      expect([who, ...complaints]).toEqual([who])
      await context.close()
    }
  })

  test('an auditor tries a draft of rules, and hands it over by a link to who may put it in shadow mode', async () => {
    const { page, context, complaints } = await open(browser)
    await logIn(page, server.url, 'auditor', tokens.auditor)
    const draft = '- { id: x, action: block, condition_stakes: critical, message: m }'
    await visit(page, server.url, `/policy?draft=${encodeURIComponent(draft)}`)
    await page.getByText('To put it there takes the scope curate or admin: the role lead has it.').waitFor()
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.getByRole('button', { name: 'Copy the link' }).click()
    await page.getByText('Copied.').waitFor()
    const copied = await page.evaluate(() => navigator.clipboard.readText())
    expect(new URL(copied).searchParams.get('draft')).toBe(draft)
    expect(await page.getByRole('button', { name: 'Put in shadow mode' }).count()).toBe(0)
    expect(complaints).toEqual([])
    await context.close()
  })

  test('no table is cut beside the menu, and a text beside buttons keeps its room on a phone', async () => {
    const { page, context } = await open(browser, { width: 1_024 })
    await logIn(page, server.url, 'root', tokens.root!)
    for (const path of ['/decisions', '/agents', '/policy', '/approvals', '/proof', '/calibration']) {
      await visit(page, server.url, path)
      const cut = await page
        .locator('.scroll')
        .evaluateAll((all) => all.map(({ scrollWidth, clientWidth }) => Math.max(0, scrollWidth - clientWidth)))
      expect([path, ...new Set(cut)]).toEqual([path, 0])
    }
    await page.setViewportSize({ width: 390, height: 800 })
    for (const path of ['/agents', '/policy', '/proof', '/decisions']) {
      await visit(page, server.url, path)
      // A name of a column that takes the room of its cell leaves a letter a line.
      const heights = await page.locator('td').evaluateAll((all) => all.map((one) => one.clientHeight))
      expect([path, Math.max(...heights) < 240]).toEqual([path, true])
    }
    await visit(page, server.url, '')
    const widths = await page.locator('.inbox > li > p').evaluateAll((all) => all.map((one) => one.clientWidth))
    expect(Math.min(...widths)).toBeGreaterThan(150)
    await context.close()
  })

  test('a row of the list is one line; an agent has a letter and a colour, which are not part of its name', async () => {
    const { page } = watched
    await visit(page, server.url, '/decisions')
    const heights = await page.locator('tbody tr').evaluateAll((all) => all.map((one) => one.clientHeight))
    expect([heights.length, Math.max(...heights) <= 40]).toEqual([25, true])
    const title = page.locator('tbody td:first-child a').first()
    expect(await title.getAttribute('title')).toBe(await title.innerText())
    const looks = await page.locator('.agent').evaluateAll((all) =>
      all.map((one) => {
        const { content, backgroundColor } = getComputedStyle(one, '::before')
        return [one.textContent, content, backgroundColor] as const
      }),
    )
    for (const [name, letter] of looks) expect(letter).toBe(`"${name[0]!.toUpperCase()}" / ""`)
    const named = new Map(looks.map(([name, , colour]) => [name, colour]))
    expect(named.size).toBeGreaterThan(4)
    expect(new Set(named.values()).size).toBe(named.size)
    await page.emulateMedia({ media: 'print' })
    await visit(page, server.url, '/breakers')
    const time = page.locator('time').first()
    expect(await time.evaluate((one) => getComputedStyle(one, '::after').content)).toContain('UTC')
    await page.emulateMedia({ media: null })
  })

  test('what is not loaded yet has its place', async () => {
    const { page, context } = await open(browser)
    await logIn(page, server.url, 'root', tokens.root!)
    await page.route('**/cstp', async (route) => {
      await page.locator('.skeleton').first().waitFor()
      await route.continue()
    })
    await visit(page, server.url, '/agents')
    expect(await page.locator('.skeleton').count()).toBe(0)
    await context.close()
  })

  test('on paper there are the time, the address and the key, but no control, no raw content and no empty panel', async () => {
    const { page } = watched
    const { approvals } = (await server.call('listApprovals', { state: 'pending', limit: 1 })) as {
      approvals: { id: string }[]
    }
    const { decisions } = (await server.call('listDecisions', { limit: 1, category: 'deployment' })) as {
      decisions: { id: string }[]
    }
    const [{ id }] = decisions as [{ id: string }]
    // What is between the margins of A4.
    await page.setViewportSize({ width: 703, height: 1_000 })
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
    const pages = {
      agents: '/agents',
      policy: '/policy',
      breaker: '/breakers/category%3Adeployment',
      approval: `/approvals/${approvals[0]!.id}`,
      decision: `/decisions/${id}`,
      dossier: `/dossiers/${id}`,
    }
    const shown: Record<string, string> = {}
    for (const [name, path] of Object.entries(pages)) {
      await visit(page, server.url, path)
      shown[name] = await page.locator('main').innerText()
      const found = await page.evaluate(() => {
        const all = (selector: string) => [...document.querySelectorAll(selector)]
        const visible = (selector: string) =>
          all(selector).filter((one) => one.checkVisibility({ contentVisibilityAuto: true }))
        return {
          controls: visible('button:not(.term > button), input, select, textarea, .side-rail, .top, .status > a')
            .length,
          raw: visible(':is(td, li) pre').length,
          empty: visible('.panel')
            .filter((one) => (one as HTMLElement).innerText.split('\n').filter(Boolean).length < 2)
            .map((one) => (one as HTMLElement).innerText),
          folded: all('.panel').filter((one) => getComputedStyle(one).breakInside !== 'auto').length,
          ground: getComputedStyle(document.body).backgroundColor,
          ink: getComputedStyle(document.body)
            .color.match(/\d+/g)!
            .every((part) => Number(part) < 64),
          cut: document.documentElement.scrollWidth - document.documentElement.clientWidth,
        }
      })
      const expected = { controls: 0, raw: 0, folded: 0, ground: 'rgb(255, 255, 255)', ink: true, cut: 0 }
      expect([name, found]).toEqual([name, { ...expected, empty: [] }])
      if (name !== 'dossier') expect(shown[name]).toContain(`UTC, ${server.url}/dashboard${path}`)
    }
    expect(shown.agents).toMatch(/its \d+ failures, last (?:today|\d+ d ago)\n/)
    expect(shown.policy).toContain('Applies when stakes = critical and confidence < 0.5')
    expect(shown.breaker).toContain('Denied since')
    expect(shown.policy).not.toContain('Workbench')
    expect(shown.breaker).not.toContain('Reset')
    const { dossier } = shown
    for (const text of [/as of \d{4}-\d\d-\d\d \d\d:\d\d UTC/, /Signed by \S+\+[0-9a-f]{8}\+\S+/, /not checked yet/])
      expect(dossier).toMatch(text)
    expect(dossier).toMatch(new RegExp(`cstp verify ${id}.dossier.json SHA-256 of the file: [0-9a-f]{64}`))
    await page.emulateMedia({ media: null, colorScheme: null })
    await page.setViewportSize({ width: 1_280, height: 900 })
  })
})

/** The dashboard over time and at work: drift by week, filters, verification, proofs, freshness, zones, and the graph of real decisions. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { type Pep, pepLines } from '../../docs/demo/peps.ts'
import type { CheckDriftResult, GetGraphResult, GetVerificationResult } from '../../sdk/client.ts'
import { ownKeyPath } from '../../src/app/evidence.ts'
import { ownKey } from '../../src/core/key-file.ts'
import { openSqliteEvidence } from '../../src/drivers/evidence/sqlite/driver.ts'
import { append } from '../support/evidence/log.ts'
import { type RunningServer, startServer, temporaryDir } from '../support/process.ts'
import { sharedText } from '../support/shared.ts'
import { executable, launch, logIn, open, settled, spill, violations, visit, type Watched } from './browser.ts'
import { drifter, seedDrift } from './drifting.ts'
import { people } from './place.ts'

setDefaultTimeout(120_000)
const peps = sharedText('data/peps.jsonl')
/** So many that a walk over them lasts longer than a question about it. */
const events = 40_000

describe.skipIf(executable === null)('the dashboard', () => {
  let dir: string
  let server: RunningServer
  let browser: Browser
  let watched: Watched
  let page: Page
  let decisionId: string

  beforeAll(async () => {
    dir = await temporaryDir('cstp-weeks-')
    await seedDrift(dir)
    await ownKey(ownKeyPath(dir), 'the evidence key')
    const evidence = await openSqliteEvidence(join(dir, 'provenance.db'))
    await append(evidence, events)
    await evidence.close()
    const tokens = Object.entries(people).map((pair) => pair.join(':'))
    ;[server, browser] = await Promise.all([
      startServer({ dir, env: { CSTP_AUTH_TOKENS: tokens.join(',') } }),
      launch(),
    ])
    const recorded = await server.call('recordDecision', { decision: 'Merge it', category: 'release', confidence: 0.8 })
    decisionId = recorded.decision_id as string
    await server.call('linkEvidence', { decision_id: decisionId, event_seqs: [3, 20_000] })
    watched = await open(browser)
    page = watched.page
    await logIn(page, server.url, 'root', people.root)
  })
  afterAll(async () => {
    await browser?.close()
    await server?.kill()
    if (dir) await rm(dir, { recursive: true, force: true })
  })
  const quiet = (): void => expect(watched.complaints.splice(0)).toEqual([])

  test('drift by week is what the method found, with every week marked in which it was found', async () => {
    await visit(page, server.url, `/calibration?agent=${drifter}`)
    const { history } = (await server.call('checkDrift', {
      agent: drifter,
      history_points: 27,
    })) as unknown as CheckDriftResult
    const drifted = history.filter(({ drift_detected }) => drift_detected).length
    expect([history.length, drifted > 5, drifted < 27]).toEqual([27, true, true])
    const panel = page.getByRole('region', { name: 'Is it getting worse?' })
    expect(await panel.innerText()).toContain(`27 weeks of 27 can be compared; drift was found in ${drifted} weeks`)
    // A figure is marked where it is one that got worse.
    const worse = history.flatMap(({ drift_detected, brier_score, accuracy }) =>
      drift_detected ? [brier_score, accuracy].filter((one) => one !== null && one.p_value <= 0.05) : [],
    )
    expect(await panel.locator('path.drifted').count()).toBe(worse.length)
    await panel.getByText('Show as a table').click()
    const p = (value: number) => (value < 0.001 ? '< 0.001' : `= ${value.toFixed(3)}`)
    const expected = history.toReversed().map(({ at, drift_detected, recent_scored, historical_scored, ...one }) => {
      const [brier, accuracy] = [one.brier_score!, one.accuracy!]
      return [
        at.slice(0, 10),
        drift_detected ? 'found' : 'no',
        `${recent_scored} and ${historical_scored}`,
        ...[brier.recent, brier.historical].map((value) => value.toFixed(3)),
        p(brier.p_value),
        ...[accuracy.recent, accuracy.historical].map((value) => `${(100 * value).toFixed(1)} %`),
        p(accuracy.p_value),
      ]
    })
    const rows = await panel.getByRole('region', { name: 'Drift by week' }).locator('tbody tr').all()
    const shown = await Promise.all(rows.map((row) => row.locator('th, td').allInnerTexts()))
    expect(shown).toEqual(expected)
    const last = history.at(-1)!.brier_score!
    const title = (await panel.locator('figure').first().locator('g title').last().textContent())!
    for (const said of [last.recent.toFixed(2), `p ${p(last.p_value)}`, 'drift']) expect(title).toContain(said)
    await visit(page, server.url, '/calibration?agent=nobody')
    expect(await panel.innerText()).toContain('In none of these weeks were enough decisions reviewed for a comparison.')
    quiet()
  })

  test('a finding of drift is dismissed where it waits, and the trail keeps who and why', async () => {
    await visit(page, server.url, '/inbox?type=calibration_drift')
    const item = page.locator('.inbox > li')
    await item.getByText('Dismiss …').click()
    await item.getByLabel('Why this drift is settled').fill('It got another model')
    await item.getByRole('button', { name: 'Dismiss it' }).click()
    await page.getByText('The finding for release is closed').waitFor()
    await item.waitFor({ state: 'detached' })
    const { entries } = (await server.call('listAudit', { method: 'cstp.closeDrift' })) as unknown as {
      entries: { agent: string; detail: object }[]
    }
    expect(entries.map(({ agent, detail }) => ({ agent, ...detail }))).toEqual([
      { agent: 'root', category: 'release', since: expect.any(String), reason: 'It got another model' },
    ] as never)
    quiet()
  })

  test('a verification tells how far it is, then what it found', async () => {
    await visit(page, server.url, '/proof')
    const { latest } = (await server.call('getVerification', {})) as unknown as GetVerificationResult
    const chain = page.getByRole('region', { name: 'Chain', exact: true })
    await chain.getByText('Last verified: ').waitFor()
    expect(await chain.innerText()).toContain(`${latest!.records.toLocaleString('en')} records`)
    await page.evaluate(() => {
      const seen: string[] = []
      Object.assign(globalThis, { seen })
      new MutationObserver(() => {
        const bar = document.querySelector('progress')
        if (bar) seen.push(`${bar.getAttribute('aria-label')} ${bar.getAttribute('max') ?? 'unknown'}`)
      }).observe(document.body, { subtree: true, childList: true, attributes: true })
    })
    const seen = () => page.evaluate(() => (globalThis as unknown as { seen: string[] }).seen)
    // A walk may be over before the page asks how far it is, so the server walks until the page has seen one.
    await page.route('**/cstp', async (route) => {
      if (route.request().postDataJSON().method === 'cstp.verifyEvidenceChain')
        while (!(await seen()).includes(`Verification ${events + 1}`)) await server.call('verifyEvidenceChain', {})
      return route.continue()
    })
    await page.getByRole('button', { name: 'Verify the chain' }).click()
    await page.getByText('Intact.').waitFor()
    await page.unroute('**/cstp')
    await page.locator('progress').waitFor({ state: 'detached' })
    const said = (await server.call('verifyEvidenceChain', {})) as { records: number }
    expect(await chain.locator('.notice').innerText()).toContain(`${said.records.toLocaleString('en')} records`)
    quiet()
  })

  test('a walk of another server shows as one of unknown length', async () => {
    await visit(page, server.url, '/proof')
    const idle = { running: false, records: null, total: null, started_at: null, latest: null }
    let released = (): void => {}
    const held = new Promise<void>((resolve) => {
      released = resolve
    })
    // What this server would answer while another one walks.
    await page.route('**/cstp', async (route) => {
      const asked = route.request().postDataJSON() as { id: unknown; method: string }
      if (asked.method === 'cstp.getVerification')
        return route.fulfill({ json: { jsonrpc: '2.0', id: asked.id, result: idle } })
      if (asked.method === 'cstp.verifyEvidenceChain') await held
      return route.continue()
    })
    await page.getByRole('button', { name: 'Verify the chain' }).click()
    const bar = page.getByRole('progressbar', { name: 'Verification' })
    await bar.waitFor()
    expect(await bar.getAttribute('value')).toBeNull()
    released()
    await page.getByText('Intact.').waitFor()
    await page.unroute('**/cstp')
    quiet()
  })

  test('the page of a decision proves each event of its evidence', async () => {
    await visit(page, server.url, `/decisions/${decisionId}`)
    const evidence = page.getByRole('region', { name: 'Evidence' })
    const items = await evidence.locator('ul.plain > li > p').allInnerTexts()
    expect(items.map((text) => text.split(',')[0])).toEqual([
      'observed pr_commit',
      'observed pr_commit',
      'attested cstp_decision_linked',
    ])
    for (const seq of [3, 20_000, events + 1]) {
      const { root_hash, leaf_hash } = (await server.call('getInclusionProof', { seq })) as Record<string, string>
      const proof = evidence.locator('details', { hasText: `Proof of event ${seq}` })
      await proof.locator('summary').first().click()
      await proof.getByText('the path ends at the signed root').waitFor()
      const path = await proof.locator('.path').innerText()
      for (const hash of [root_hash!, leaf_hash!]) expect(path).toContain(hash)
    }
    await evidence.getByRole('link', { name: '20,000', exact: true }).click()
    await page.waitForURL(/proof\?proof=20000/)
    await settled(page)
    expect(await page.getByRole('region', { name: 'Proof of one event' }).innerText()).toContain(
      'Event 20000 is in the log',
    )
    quiet()
  })
  test('events are listed from the newest on, and from the oldest where that is asked for', async () => {
    await visit(page, server.url, '/proof')
    const table = page.getByRole('table', { name: 'Events' })
    const numbers = async () => {
      await settled(page)
      const cells = await table.locator('tbody td:first-child').allInnerTexts()
      return cells.map((text) => Number.parseInt(text, 10))
    }
    const newest = events + 1
    const down = (from: number) => Array.from({ length: 25 }, (_, at) => from - at)
    expect(await numbers()).toEqual(down(newest))
    await page.getByRole('link', { name: 'Earlier events' }).click()
    await page.waitForURL(/from=/)
    expect(await numbers()).toEqual(down(newest - 25))
    await page.getByRole('link', { name: 'Oldest first' }).click()
    await page.waitForURL(/order=asc/)
    expect(await numbers()).toEqual(down(25).toReversed())
    await page.getByRole('link', { name: 'Later events' }).click()
    await page.waitForURL(/from=26/)
    expect((await numbers())[0]).toBe(26)
    quiet()
  })

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
    await visit(page, server.url, '/policy')
    await page.getByText('Try an action').click()
    await page.getByLabel('Planned action').fill('Switch every region')
    await page.context().clearCookies()
    await page.getByRole('button', { name: 'Try it' }).click()
    await page.getByText('what you have typed is kept').waitFor()
    expect(await page.getByLabel('Planned action').isVisible()).toBe(false)
    await page.getByRole('textbox', { name: 'Agent' }).fill('root')
    await page.getByLabel('Token', { exact: true }).fill(people.root)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByLabel('Planned action').waitFor()
    await settled(page)
    expect([await page.getByLabel('Planned action').inputValue(), await page.title()]).toEqual([
      'Switch every region',
      'Policy · cstp',
    ])
    await page.getByRole('button', { name: 'Try it' }).click()
    await page.getByText(/^(?:Allowed|Denied)\.$/).waitFor()
    watched.complaints.length = 0
  })

  test('times are relative, in full on hover, in the time zone of the reader and in UTC', async () => {
    const context = await browser.newContext({
      timezoneId: 'Asia/Kolkata',
      storageState: await page.context().storageState(),
    })
    const there = await context.newPage()
    await there.goto(`${server.url}/dashboard/proof`)
    const time = there.locator('time').first()
    await time.waitFor()
    const at = (await time.getAttribute('datetime'))!
    const local = new Date(Date.parse(at) + 5.5 * 3_600_000).toISOString()
    expect(await time.innerText()).toMatch(/^(?:now|\d+ (?:min|h|d) ago|in \d+ (?:min|h|d)|\d{4}-\d{2}-\d{2})$/)
    expect(await time.getAttribute('title')).toBe(
      `${local.slice(0, 10)} ${local.slice(11, 16)} GMT+5:30 (${at.slice(0, 10)} ${at.slice(11, 16)} UTC)`,
    )
    await context.close()
    quiet()
  })

  test('what a person looks at is no deliberation of the agent', async () => {
    const inputs = async () => {
      const { sessions } = (await server.call('debugTracker', {})) as { sessions: { input_count: number }[] }
      return sessions.map(({ input_count }) => input_count)
    }
    const before = await inputs()
    await visit(page, server.url, '/decisions?q=caches')
    await visit(page, server.url, `/decisions/${decisionId}`)
    expect(await inputs()).toEqual(before)
  })

  describe.skipIf(peps === null)('the graph of real decisions', () => {
    /** Ids by source: the proposals on metadata of packages and what is linked with them. */
    const ids = new Map<string | null | undefined, string>()
    const centre = 'PEP 566'

    beforeAll(async () => {
      const lines = pepLines(
        peps!
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as Pep),
      )
      const linked = new Set<string | null | undefined>([centre])
      for (let step = 0; step < 3; step++)
        for (const { source, links = [] } of lines)
          for (const { target } of links) if (linked.has(source) || linked.has(target)) linked.add(source).add(target)
      const near = lines.filter(({ source }) => linked.has(source))
      for (const { source, decision, category, confidence, outcome } of near) {
        const { decision_id } = await server.call('recordDecision', { decision, category, confidence })
        ids.set(source, decision_id as string)
        if (outcome) await server.call('reviewDecision', { decision_id, outcome })
      }
      for (const { source, links = [] } of near)
        for (const { target, edge_type } of links)
          await server.call('linkDecisions', { source_id: ids.get(source), target_id: ids.get(target), edge_type })
    })
    const cards = (of: Page) => of.locator('.graph .node')
    const graph = async (depth: number) =>
      (await server.call('getGraph', { decision_id: ids.get(centre), depth })) as unknown as GetGraphResult

    /** That a reader sees every card: none over another, none outside of what can be scrolled to. */
    async function checkCards(of: Page): Promise<void> {
      const plane = (await of.locator('.graph .plane').boundingBox())!
      const boxes = await Promise.all((await cards(of).all()).map(async (card) => (await card.boundingBox())!))
      for (const [at, one] of boxes.entries()) {
        expect([one.x >= plane.x, one.y >= plane.y]).toEqual([true, true])
        expect(one.x + one.width).toBeLessThanOrEqual(plane.x + plane.width)
        expect(one.y + one.height).toBeLessThanOrEqual(plane.y + plane.height)
        for (const other of boxes.slice(at + 1)) {
          const isBeside = one.x + one.width <= other.x || other.x + other.width <= one.x
          expect(isBeside || one.y + one.height <= other.y || other.y + other.height <= one.y).toBe(true)
        }
      }
    }

    test('at three steps each decision has its place, on a desk and on a phone, and axe finds nothing', async () => {
      const { nodes } = await graph(3)
      const shown = new Set(nodes.map(({ id }) => id))
      const edges = (await graph(4)).edges.filter((edge) => shown.has(edge.source_id) && shown.has(edge.target_id))
      expect(nodes.length).toBeGreaterThan(8)
      for (const width of [1280, 360]) {
        const other = await open(browser, { width })
        await logIn(other.page, server.url, 'root', people.root)
        await visit(other.page, server.url, `/decisions/${ids.get(centre)}`)
        await other.page.getByLabel('Steps from here').selectOption('3')
        await settled(other.page)
        const titles = await cards(other.page).locator('.title').allInnerTexts()
        expect(titles.toSorted()).toEqual(nodes.map(({ title }) => title).toSorted())
        expect(await other.page.locator('.plane .edge').count()).toBe(edges.length)
        await checkCards(other.page)
        const found = await violations(other.page, { within: '#links' })
        expect([width, await spill(other.page), ...found.map(({ id }) => id)]).toEqual([width, 0])
        expect(other.complaints).toEqual([])
        await other.context.close()
      }
    })

    test('kinds of links are distinguished without colour, and a reader of lists hears the same', async () => {
      await visit(page, server.url, `/decisions/${ids.get(centre)}`)
      await page.getByLabel('Steps from here').selectOption('2')
      await settled(page)
      const looks = await page.locator('.legend svg .edge').evaluateAll((lines) =>
        lines.map((line) => {
          const { strokeDasharray, strokeWidth } = getComputedStyle(line)
          return [strokeDasharray, strokeWidth, line.getAttribute('marker-end')].join(' ')
        }),
      )
      expect([looks.length, new Set(looks).size]).toEqual([2, 2])
      const layers = page.locator('.graph ol')
      expect(await layers.evaluateAll((lists) => lists.map((list) => list.getAttribute('aria-label')))).toEqual([
        'This decision',
        '1 step away',
        '2 steps away',
      ])
      const name =
        'Metadata for Python Software Packages 2.1 supersedes Metadata for Python Software Packages 1.2 , partial'
      expect(await layers.nth(1).getByRole('link', { name, exact: true }).count()).toBe(1)
    })

    test('a decision at the edge is opened and closed by key; a review from elsewhere and one on the page both show', async () => {
      await visit(page, server.url, `/decisions/${ids.get(centre)}`)
      const before = await cards(page).count()
      const more = page.getByRole('button', { name: /^Show \d+ more decisions? linked with/ }).first()
      const hidden = Number((await more.innerText()).slice(1))
      await more.focus()
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: /^Show fewer decisions linked with/ }).waitFor()
      await settled(page)
      expect(await cards(page).count()).toBe(before + hidden)
      await checkCards(page)
      await page.keyboard.press('Enter')
      await settled(page)
      expect(await cards(page).count()).toBe(before)
      await server.call('reviewDecision', { decision_id: ids.get('PEP 426'), outcome: 'failure' })
      await page.getByRole('button', { name: 'Reload' }).click()
      await page.locator('.node:not(.centre) .sign.failure').waitFor()
      await page.locator('.node.centre .sign.success').waitFor()
      await page.getByLabel('Steps from here').selectOption('2')
      await page.getByText('Review it again').click()
      await page.getByRole('button', { name: 'Partial' }).click()
      await page.evaluate(() => dispatchEvent(new Event('pagehide')))
      await page.locator('.node.centre .sign.partial').waitFor()
      // What the reader had opened stays.
      expect(await page.getByLabel('Steps from here').inputValue()).toBe('2')
      quiet()
    })
  })
})

/** The dashboard over time and at work: drift by week, filters of a search, progress of a verification, proofs on a decision's page. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import type { CheckDriftResult, GetVerificationResult } from '../../sdk/client.ts'
import { ownKeyPath } from '../../src/app/evidence.ts'
import { ownKey } from '../../src/core/key-file.ts'
import { openSqliteEvidence } from '../../src/drivers/evidence/sqlite/driver.ts'
import { append } from '../support/evidence/log.ts'
import { type RunningServer, startServer, temporaryDir } from '../support/process.ts'
import { executable, launch, logIn, open, settled, visit, type Watched } from './browser.ts'
import { drifter, seedDrift } from './drifting.ts'
import { people } from './place.ts'

setDefaultTimeout(60_000)
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

  test('a search keeps to agent, outcome and tag, as the method does', async () => {
    await visit(page, server.url, `/decisions?q=release+a+build&agent=${drifter}&outcome=failure`)
    expect([
      await page.getByRole('combobox', { name: 'Agent' }).inputValue(),
      await page.getByRole('combobox', { name: 'Outcome' }).inputValue(),
    ]).toEqual([drifter, 'failure'])
    for (const mode of ['semantic', 'keyword', 'hybrid']) {
      await visit(page, server.url, `/decisions?q=release+a+build&agent=${drifter}&outcome=failure&mode=${mode}`)
      const { decisions, total } = (await server.call('queryDecisions', {
        query: 'release a build',
        retrieval_mode: mode,
        limit: 25,
        filters: { agent: drifter, outcome: 'failure' },
      })) as { decisions: { title: string }[]; total: number }
      const titles = await page.locator('.hits h2 a').allInnerTexts()
      expect([mode, ...titles]).toEqual([mode, ...decisions.map(({ title }) => title)])
      if (titles.length > 0) {
        expect(await page.getByRole('status').first().innerText()).toStartWith(`${total} decisions`)
        expect(new Set(await page.locator('.hits .badge:first-child').allInnerTexts())).toEqual(new Set(['failure']))
      }
    }
    await visit(page, server.url, '/decisions?q=release+a+build&agent=nobody')
    expect(await page.locator('.empty').innerText()).toContain('No decision matches')
    quiet()
  })

  test('a verification tells how far it is, then what it found', async () => {
    await visit(page, server.url, '/evidence')
    const { latest } = (await server.call('getVerification', {})) as unknown as GetVerificationResult
    const chain = page.getByRole('region', { name: 'Chain', exact: true })
    expect(await chain.innerText()).toContain('Last verified: ')
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
    // A walk that is over before the page could ask is begun again.
    for (let tries = 0; tries < 10 && !(await seen()).includes(`Verification ${events + 1}`); tries++) {
      await page.getByRole('button', { name: 'Verify the chain' }).click()
      await page.getByText('Intact.').waitFor()
    }
    expect(await seen()).toContain(`Verification ${events + 1}`)
    await page.locator('progress').waitFor({ state: 'detached' })
    const said = (await server.call('verifyEvidenceChain', {})) as { records: number }
    expect(await chain.locator('.notice').innerText()).toContain(`${said.records.toLocaleString('en')} records`)
    quiet()
  })

  test('a walk of another server shows as one of unknown length', async () => {
    await visit(page, server.url, '/evidence')
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
    await page.waitForURL(/evidence\?proof=20000/)
    await settled(page)
    expect(await page.getByRole('region', { name: 'Proof of one event' }).innerText()).toContain(
      'Event 20000 is in the log',
    )
    quiet()
  })
})

/** The dashboard in a real browser, on real decisions: every page, what can be done on it, and that nothing complains. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import type { RunOnly } from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import { bareEnv, cstp, temporaryDir } from '../support/process.ts'
import {
  colours,
  executable,
  launch,
  logIn,
  menuLink,
  open,
  settled,
  shape,
  spill,
  tabLink,
  violations,
  visit,
  type Watched,
} from './browser.ts'
import { type DashboardPlace, hasData, people, startPlace } from './place.ts'

setDefaultTimeout(120_000)
const runs = executable !== null && hasData

const wcag: RunOnly = {
  type: 'tag',
  values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
}

describe.skipIf(!runs)('the dashboard', () => {
  let dir: string
  let place: DashboardPlace
  let browser: Browser
  let watched: Watched
  let page: Page
  let url: string

  beforeAll(async () => {
    dir = await temporaryDir('cstp-dashboard-')
    const [started, launched] = await Promise.all([startPlace(dir), launch()])
    place = started
    browser = launched
    url = place.server.url
    watched = await open(browser)
    page = watched.page
    await logIn(page, url, 'root', people.root)
  })
  afterAll(async () => {
    await browser?.close()
    await place?.server.kill()
    if (dir) await rm(dir, { recursive: true, force: true })
  })

  /** What a person who can not see or use a mouse would stumble over. */
  const serious = async (of: Page, runOnly: RunOnly = wcag) => {
    const found = await violations(of, { runOnly })
    return found
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
  }
  const quiet = (): void => expect(watched.complaints.splice(0)).toEqual([])

  test('a wrong token is refused in words, and opens nothing', async () => {
    const { page: stranger, context } = await open(browser)
    await stranger.goto(`${url}/dashboard/decisions`)
    await stranger.getByLabel('Agent', { exact: true }).fill('root')
    await stranger.getByLabel('Token', { exact: true }).fill('wrong')
    await stranger.getByRole('button', { name: 'Log in' }).click()
    expect(await stranger.getByRole('alert').innerText()).toBe('Wrong agent or token.')
    expect(await serious(stranger)).toEqual([])
    expect(await context.cookies()).toEqual([])
    await context.close()
  })

  test('nothing of the token stays in the browser', async () => {
    const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href]))
    expect(kept).not.toContain(people.root)
    const [cookie, ...others] = await watched.context.cookies()
    expect(others).toEqual([])
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' })
    expect(cookie!.value).not.toContain(people.root)
  })

  test('a search and a decision full of script pass axe in both looks, and fit a phone', async () => {
    const phone = await open(browser, { width: 360, height: 740 })
    await logIn(phone.page, url, 'root', people.root)
    for (const path of ['/decisions?q=generators', `/decisions/${place.hostileId}`]) {
      await visit(phone.page, url, path)
      expect([path, ...(await serious(phone.page))]).toEqual([path])
      // The two looks differ in nothing but their colours.
      await phone.page.emulateMedia({ colorScheme: 'dark' })
      expect([path, 'dark', ...(await serious(phone.page, colours))]).toEqual([path, 'dark'])
      await phone.page.emulateMedia({ colorScheme: 'light' })
      expect([path, await spill(phone.page)]).toEqual([path, 0])
    }
    expect(phone.complaints).toEqual([])
    await phone.context.close()
  })

  test('the menu leads to every page, and each is named by its heading and title', async () => {
    await visit(page, url, '')
    const names = await page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allInnerTexts()
    expect(names).toEqual([...new Set(shape.map(([, , entry]) => entry))])
    for (const [path, title, entry, tab] of shape) {
      await menuLink(page, entry).click()
      if (tab !== undefined) await tabLink(page, entry, tab).click()
      await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor()
      await settled(page)
      expect([new URL(page.url()).pathname, await page.title()]).toEqual([`/dashboard${path}`, `${title} · cstp`])
    }
    await visit(page, url, '/nowhere')
    expect(await page.locator('main').innerText()).toContain('There is no page at this address')
    quiet()
  })

  test('an address of before leads to the page that has its content now, with its query', async () => {
    for (const [before, now] of [
      ['/trust?by=agent_category', '/agents?by=agent_category'],
      ['/guardrails?allowed=no', '/policy?allowed=no'],
      ['/evidence?proof=4', '/proof?proof=4'],
    ] as const) {
      await visit(page, url, before)
      expect(page.url()).toBe(`${url}/dashboard${now}`)
    }
    quiet()
  })

  test('the menu folds to its signs, and stays folded after a reload', async () => {
    await visit(page, url, '')
    await page.getByRole('button', { name: 'Fold the menu' }).click()
    await page.reload()
    const unfold = page.getByRole('button', { name: 'Unfold the menu' })
    await unfold.waitFor()
    expect((await page.getByRole('navigation', { name: 'Pages' }).boundingBox())!.width).toBeLessThan(80)
    expect(await menuLink(page, 'Policy').getAttribute('title')).toBe('Policy')
    await unfold.click()
    quiet()
  })

  test('filters, sorting and pages are in the address', async () => {
    await visit(page, url, '/decisions?category=architecture&from=2010-01-01')
    const { total } = (await place.server.call('listDecisions', {
      category: 'architecture',
      date_from: '2010-01-01',
      limit: 1,
    })) as { total: number }
    expect(await page.getByRole('status').innerText()).toContain(`${total} decisions, 1 to 25`)
    await page.getByRole('button', { name: 'Confidence' }).click()
    await page.waitForURL(/sort=confidence/)
    await settled(page)
    await page.getByRole('link', { name: 'Next' }).click()
    await page.waitForURL(/page=2/)
    await settled(page)
    const listed = (await place.server.call('listDecisions', {
      category: 'architecture',
      date_from: '2010-01-01',
      sort: 'confidence',
      offset: 25,
      limit: 25,
    })) as { decisions: { title: string }[] }
    const titles = await page.locator('tbody td:first-child a').allInnerTexts()
    expect(titles).toEqual(listed.decisions.map(({ title }) => title))
    await page.getByLabel('Outcome').selectOption('failure')
    await page.getByRole('button', { name: 'Apply filters' }).click()
    await page.waitForURL(/outcome=failure/)
    await settled(page)
    expect(new Set(await page.locator('td[data-label=Outcome]').allInnerTexts())).toEqual(new Set(['failure']))
    await visit(page, url, '/decisions?tag=no-such-tag')
    expect(await page.locator('.empty').innerText()).toContain('No decision matches')
    quiet()
  })

  test('a decision is reviewed and thought about, and the graph is walked', async () => {
    await visit(page, url, `/decisions/${place.pendingId}`)
    expect(await page.locator('h1').innerText()).toBe('Switch regions one by one, a day apart')
    await page.getByLabel('Add a thought').fill('Two of five are done.')
    await page.getByRole('button', { name: 'Add the thought' }).click()
    await page.locator('.timeline').getByText('Two of five are done.').waitFor()
    await page.getByLabel('What happened').fill('All five were switched.')
    await page.getByRole('button', { name: 'Success' }).click()
    await page.getByText('success: saved in 10 seconds').waitFor()
    // What waits is sent when the page is left.
    await page.goto('about:blank')
    const read = () => place.server.call('getDecision', { id: place.pendingId })
    while ((await read()).outcome === null) await Bun.sleep(50)
    await visit(page, url, `/decisions/${place.pendingId}`)
    const record = await read()
    expect(record).toMatchObject({ outcome: 'success', actual_result: 'All five were switched.', reviewed_by: 'root' })
    expect(JSON.stringify(record.deliberation)).toContain('Two of five are done.')
    const regions = page.getByRole('region', { name: 'Evidence' })
    const linked = await regions.innerText()
    for (const said of ['observed pr_opened, event 1', 'observed pr_merged, event 4', 'attested cstp_decision_linked'])
      expect(linked).toContain(said)
    await page.locator('.graph a').nth(1).focus()
    await page.keyboard.press('Enter')
    await page.waitForFunction((id) => !location.pathname.endsWith(id), place.pendingId)
    await settled(page)
    quiet()
  })

  test('what the evidence of a pull request proposes is beside the outcomes, none of which is preset', async () => {
    const ago = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString()
    const record = async (pr: number): Promise<string> => {
      const project = { name: 'acme/app', pr }
      const given = { decision: `Merge ${pr}`, category: 'release', confidence: 0.8, created_at: ago(20).slice(0, 10) }
      return (await place.server.call('recordDecision', { ...given, project })).decision_id as string
    }
    const [stable, fresh] = [await record(70), await record(71)]
    const merged = (pr_number: number, days: number) =>
      (['ci_completed', 'pr_merged'] as const).map((event_type) => ({
        event_type,
        ts: ago(days),
        payload: { pr_number, repo: 'acme/app', conclusion: 'success', all_passed: true },
      }))
    await place.server.call('ingestEvidence', { source: 'github', events: [...merged(70, 16), ...merged(71, 3)] })
    await visit(page, url, `/decisions/${stable}`)
    const review = page.getByRole('form', { name: 'Review' })
    await page.getByText('Evidence: PR 70 was merged with passed checks and not reverted for 14 days.').waitFor()
    expect(
      await review
        .locator('button, input')
        .evaluateAll((all) => all.filter((one) => one.matches(':checked, .main, :focus, [aria-pressed]')).length),
    ).toBe(0)
    await review.getByLabel('What to do differently next time').fill('Nothing')
    await page.keyboard.press('Enter')
    await visit(page, url, `/decisions/${fresh}`)
    await page.getByText(/^Evidence: PR 71 .*\.$/).waitFor()
    expect(await page.getByText('Success?').count()).toBe(0)
    for (const id of [stable, fresh]) expect((await place.server.call('getDecision', { id })).outcome).toBeNull()
    // On its page and in its row one button or key accepts it, and can be undone.
    await visit(page, url, `/decisions/${stable}`)
    await review.getByRole('button', { name: 'Success?' }).click()
    await page.getByRole('button', { name: 'Undo' }).click()
    await visit(page, url, '/inbox?project=acme%2Fapp')
    const all = await page.locator('.inbox > li').allInnerTexts()
    expect(all.filter((text) => /Switch|Look at/.test(text))).toEqual([])
    const rows = page.locator('.inbox > li', { hasText: 'Merge 70' })
    expect(await page.getByLabel('Project').getAttribute('list')).toBe('known-project')
    expect(await rows.innerText()).toContain('Evidence: PR 70 was merged with passed checks')
    await rows.getByRole('link').first().focus()
    await page.keyboard.press('a')
    await page.getByText('“Merge 70”, success: saved in 10 seconds').waitFor()
    await page.evaluate(() => dispatchEvent(new Event('pagehide')))
    await page.getByText('Reviewed: success.').waitFor()
    expect(await place.server.call('getDecision', { id: stable })).toMatchObject({
      outcome: 'success',
      review_notes: 'Evidence: PR 70 was merged with passed checks and not reverted for 14 days.',
    })
    quiet()
  })

  test('the dossier of a decision is two clicks from the list, and a changed content is seen', async () => {
    await visit(page, url, '/decisions?q=regions')
    await page.getByRole('link', { name: 'Switch regions one by one, a day apart' }).click()
    await page.getByRole('link', { name: 'Dossier' }).click()
    await settled(page)
    const acts = page.locator('.timeline > li')
    const kinds = await acts.locator('strong').allInnerTexts()
    expect(kinds).toContain('decision')
    expect(await page.locator('.proved').count()).toBe(kinds.length)
    // The key that is pasted checks every signature; another key of the same name finds none.
    const { verifier_key } = (await place.server.call('getDossier', { id: place.pendingId })) as {
      verifier_key: string
    }
    const [name] = verifier_key.split('+')
    const bytes = Buffer.concat([Buffer.from([1]), new Uint8Array(32).fill(9)])
    const hash = new Bun.CryptoHasher('sha256').update(`${name}\n`).update(bytes).digest('hex')
    const pin = async (key: string) => {
      await page.getByRole('textbox', { name: 'Key of the log' }).fill(key)
      await page.getByRole('button', { name: 'Check signatures' }).click()
    }
    await pin(verifier_key.slice(0, -1))
    await page.getByRole('alert').getByText('Expected a key of the form').waitFor()
    await pin(`${name}+${hash.slice(0, 8)}+${bytes.toString('base64')}`)
    await acts.getByText('is not signed by the key of').first().waitFor()
    expect(await page.locator('main .notice.bad').first().innerText()).toContain("can't be proved")
    await page.getByText('another key than the pinned one').waitFor()
    await page.getByRole('button', { name: 'Forget the key' }).click()
    await pin(verifier_key)
    await page.getByText('Signatures are checked with').waitFor()
    expect(await acts.getByText('✓ signature').count()).toBe(kinds.length)
    for (const name of ['Policy as it was', 'Outcome and score'])
      expect(await page.getByRole('heading', { name }).count()).toBe(1)
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download the signed file' }).click(),
    ])
    const saved = await Bun.file(await file.path()).text()
    expect(JSON.parse(saved)).toMatchObject({ decision: { id: place.pendingId }, signature: expect.any(String) })
    await page.getByText(new Bun.CryptoHasher('sha256').update(saved).digest('hex')).waitFor()
    await page.route('**/cstp', async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, body: (await response.text()).replaceAll('Switch regions', 'Switch nothing') })
    })
    await page.reload()
    await settled(page)
    await page.unroute('**/cstp')
    expect(await page.locator('main .notice.bad').first().innerText()).toContain("can't be proved")
    expect(
      await page.locator('.timeline').getByText('the content is not what the log committed to').count(),
    ).toBeGreaterThan(0)
    quiet()
  })

  test('a term explains itself to the keyboard, and Escape closes it', async () => {
    await visit(page, url, '/calibration')
    await page.locator('.figures').first().getByRole('button', { name: 'Brier score' }).focus()
    expect(await page.getByRole('tooltip').innerText()).toContain('Mean squared distance')
    await page.keyboard.press('Escape')
    expect(await page.getByRole('tooltip').count()).toBe(0)
  })

  test('cstp dashboard logs a browser in by an address that works once and holds no token', async () => {
    const given = ['dashboard', '--print', '--url', url, '--agent', 'root', '--token', people.root]
    const { out, err } = await cstp(given, bareEnv(dir))
    expect(err).toBe('')
    expect(out).not.toContain(people.root)
    const fresh = await open(browser)
    const [address] = out.split('\n')
    await fresh.page.goto(address!)
    await fresh.page.getByRole('heading', { level: 1, name: 'Today' }).waitFor()
    expect(fresh.page.url()).toBe(`${url}/dashboard`)
    const other = await open(browser)
    await other.page.goto(address!)
    await other.page.getByRole('heading', { name: 'Log in to cstp' }).waitFor()
    await Promise.all([fresh.context.close(), other.context.close()])
  })

  test('an action is tried out: which rules match and why; no decision is recorded, and the trail says that it was a dry run', async () => {
    await visit(page, url, '/policy')
    const { total } = (await place.server.call('getStats', {})) as { total: number }
    const newest = async (limit: number) =>
      ((await place.server.call('listAudit', { limit })) as { entries: object[] }).entries
    const trailBefore = await newest(1)
    await page.getByText('Try an action').click()
    await page.getByLabel('Planned action').fill('Deploy to production')
    await page.getByLabel('Context as JSON').fill('{"affects_production": true')
    await page.getByRole('button', { name: 'Try it' }).click()
    expect(await page.getByRole('alert').innerText()).toContain('context: expected a JSON object')
    await page.getByLabel('Context as JSON').fill('{"affects_production": true}')
    await page.getByRole('button', { name: 'Try it' }).click()
    await page.getByText('Denied.').waitFor()
    const said = await page.getByRole('region', { name: 'Try an action' }).innerText()
    expect(said).toContain('This changes production, and no review is recorded')
    await page.getByLabel('Context as JSON').fill('{"affects_production": false}')
    await page.getByRole('button', { name: 'Try it' }).click()
    await page.getByText('Allowed.').waitFor()
    const [allowed, blocked, ...before] = await newest(3)
    const tried = { agent: 'root', method: 'cstp.checkGuardrails', detail: expect.objectContaining({ dry_run: true }) }
    expect(allowed).toMatchObject({ ...tried, allowed: true, rules: [] })
    expect(blocked).toMatchObject({ ...tried, allowed: false })
    expect(before).toEqual(trailBefore)
    expect(((await place.server.call('getStats', {})) as { total: number }).total).toBe(total)
    await page.getByLabel('Verdict').selectOption('no')
    await page.waitForURL(/allowed=no/)
    await settled(page)
    const trail = page.getByRole('region', { name: 'Audit trail' })
    expect(new Set(await trail.locator('td[data-label=Verdict]').allInnerTexts())).toEqual(new Set(['deny']))
    quiet()
  })

  test('a breaker is reset by who may, and by nobody else', async () => {
    const coder = await open(browser)
    await logIn(coder.page, url, 'coder', people.coder)
    await visit(coder.page, url, '/breakers/stakes%3Acritical')
    expect(await coder.page.getByRole('region', { name: 'Reset' }).innerText()).toContain('needs the scope admin')
    expect(await coder.page.getByRole('button', { name: /trial|Close/ }).count()).toBe(0)
    await coder.context.close()
    await visit(page, url, '/breakers/stakes%3Acritical')
    await page.getByRole('button', { name: 'Allow one trial' }).click()
    // Without a reason nothing is reset.
    expect(await place.server.call('getCircuitState', { scope: 'stakes:critical' })).toMatchObject({ state: 'open' })
    await page.getByLabel('Why one trial may pass').fill('The cause is found')
    await page.getByRole('button', { name: 'Allow one trial' }).click()
    await page.locator('.badge', { hasText: 'half open' }).waitFor()
    await page.getByLabel('Why it can be closed').fill('The cause is fixed')
    await page.getByRole('button', { name: 'Close breaker' }).click()
    await page.locator('.badge', { hasText: 'half open' }).waitFor({ state: 'detached' })
    const { entries } = (await place.server.call('listAudit', { method: 'cstp.resetCircuit', limit: 2 })) as {
      entries: { detail: { reason: string } }[]
    }
    expect(entries.map(({ detail }) => detail.reason)).toEqual(['The cause is fixed', 'The cause is found'])
    expect(await place.server.call('getCircuitState', { scope: 'stakes:critical' })).toMatchObject({ state: 'closed' })
    quiet()
  })

  test('evidence is verified, proven and exported', async () => {
    await visit(page, url, '/proof?proof=4')
    await page.getByRole('button', { name: 'Verify the chain' }).click()
    await page.getByText('Intact.').waitFor()
    const { root_hash } = (await place.server.call('getInclusionProof', { seq: 4 })) as { root_hash: string }
    const proof = page.getByRole('region', { name: 'Proof of one event' })
    expect(await proof.innerText()).toContain('the path ends at the signed root')
    expect(await proof.innerText()).toContain(root_hash)
    const { coverage } = (await place.server.call('mapControls', {})) as {
      coverage: Record<'observed' | 'attested', { coverage_pct: number }>
    }
    const shown = await page.getByRole('region', { name: 'Coverage' }).locator('strong').allInnerTexts()
    expect(shown).toEqual([coverage.observed, coverage.attested].map((one) => `${one.coverage_pct.toFixed(2)} %`))
    await page.getByRole('button', { name: 'Export a bundle' }).click()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: /^Download evidence/ }).click(),
    ])
    const bundle = await Bun.file(await download.path()).text()
    const digest = new Bun.CryptoHasher('sha256').update(bundle).digest('hex')
    expect(await page.getByRole('region', { name: 'Bundle' }).innerText()).toContain(digest)
    await page.getByRole('link', { name: 'Prove event 1', exact: true }).click()
    await page.getByText('Event 1 is in the log').waitFor()
    quiet()
  })

  test('deliberation shows what an agent thinks as it happens, and others only to the administrator', async () => {
    await visit(page, url, '/deliberation')
    await place.server.call('recordThought', { text: 'A thought that was not there before' })
    await page.getByText('A thought that was not there before').waitFor()
    const coder = await open(browser)
    await logIn(coder.page, url, 'coder', people.coder)
    await visit(coder.page, url, '/deliberation')
    expect(await coder.page.locator('main').innerText()).toContain('coder is not deliberating')
    await coder.context.close()
    quiet()
  })

  test('the script stays below 250 kB, and below 110 kB compressed', async () => {
    const html = await (await fetch(`${url}/dashboard`)).text()
    const [, path] = /src="(\/dashboard\/assets\/[^"]+)"/.exec(html)!
    const script = await (await fetch(url + path)).arrayBuffer()
    expect(script.byteLength).toBeLessThan(250_000)
    expect(Bun.gzipSync(script, { level: 9 }).byteLength).toBeLessThan(110_000)
  })

  test('after the logout the pages are closed', async () => {
    const visitor = await open(browser)
    await logIn(visitor.page, url, 'coder', people.coder)
    const [cookie] = await visitor.context.cookies()
    await settled(visitor.page)
    // A call that is under way at the logout is refused afterwards, which is no other end of the session.
    const out = Promise.withResolvers<void>()
    await visitor.page.route('**/cstp', (route) => out.promise.then(() => route.continue()))
    await visitor.page.getByRole('button', { name: 'Reload' }).click()
    await visitor.page.getByRole('button', { name: 'Log out' }).click()
    await visitor.page.getByText('You are logged out.').waitFor()
    const refused = visitor.page.waitForResponse((response) => response.status() === 401)
    out.resolve()
    await refused
    await settled(visitor.page)
    expect(await visitor.page.getByText('You are logged out.').count()).toBe(1)
    await visitor.page.unroute('**/cstp')
    await visitor.context.addCookies([cookie!])
    await visitor.page.goto(`${url}/dashboard/decisions`)
    await visitor.page.getByRole('heading', { name: 'Log in to cstp' }).waitFor()
    await visitor.context.close()
  })
})

/** Decisions written in a real browser: recorded, edited, linked and superseded, by keyboard too, and never lost or written twice. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import type { Browser, Page } from 'playwright-core'
import { type RunningServer, temporaryDir } from '../support/process.ts'
import { executable, launch, logIn, open, settled, visit, type Watched } from './browser.ts'
import { people, startWithReader } from './place.ts'

setDefaultTimeout(120_000)

describe.skipIf(!executable)('writing from the dashboard', () => {
  let dir: string
  let server: RunningServer
  let browser: Browser
  let watched: Watched
  let page: Page
  const field = (label: string) => page.getByLabel(label, { exact: true })
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
  const record = async (given: object): Promise<string> =>
    (await server.call('recordDecision', { category: 'deployment', confidence: 0.8, ...given })).decision_id as string
  const total = async () => (await server.call('listDecisions', { limit: 1 })).total as number
  const shown = async (): Promise<string> => {
    await page.waitForURL(/\/dashboard\/decisions\/[^/?]+$/)
    await settled(page)
    return decodeURIComponent(page.url().split('/').at(-1)!)
  }

  beforeAll(async () => {
    dir = await temporaryDir('cstp-writing-')
    const { root, coder } = people
    ;[server, browser] = await Promise.all([startWithReader(dir, { root, coder }), launch()])
    const failed = await record({ decision: 'Deploy the checkout to all regions on Friday', stakes: 'high' })
    await server.call('reviewDecision', { decision_id: failed, outcome: 'failure', lessons: 'Never before a weekend' })
    watched = await open(browser)
    page = watched.page
    await logIn(page, server.url, 'coder', people.coder)
  })
  afterAll(async () => {
    await browser?.close()
    await server?.kill()
    if (dir) await rm(dir, { recursive: true, force: true })
  })

  /** Fills what a decision needs at least. */
  const fill = async (decision: string, confidence: string) => {
    await field('Decision').fill(decision)
    await field('Category').fill('process')
    await field('Confidence in %').fill(confidence)
  }

  test('precedents come while somebody types, what would block it before it is recorded, and two clicks record it once', async () => {
    await visit(page, server.url, '/decisions')
    await page.getByRole('link', { name: 'Record a decision' }).click()
    await fill('Deploy the new checkout on Friday', '35')
    await page.getByRole('region', { name: 'Precedents' }).getByText('Lesson: Never before a weekend').waitFor()
    await page.locator('select[name=stakes]').selectOption('critical')
    await press('Add a reason')
    await field('Type').fill('analysis')
    await field('Reason').fill('The rehearsal went well.')
    await press('Add an alternative')
    await field('Rejected option').fill('Monday')
    await field('Tags, separated by commas').fill('checkout, , friday')
    await field('Project, as owner/repo').fill('acme/shop')
    const before = await total()
    await press('Record')
    await page.getByText('no-high-stakes-low-confidence').waitFor()
    expect(await page.locator('main').innerText()).toContain('Nothing is recorded yet.')
    expect(await total()).toBe(before)
    // What is judged has changed: the verdict is gone, and Record asks for it again.
    await page.locator('select[name=stakes]').selectOption('low')
    await field('Confidence in %').fill('70')
    await page.getByText('Nothing is recorded yet.').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Record', exact: true }).evaluate((button: HTMLButtonElement) => {
      button.click()
      button.click()
    })
    const id = await shown()
    expect(await total()).toBe(before + 1)
    expect(await server.call('getDecision', { id })).toMatchObject({
      decision: 'Deploy the new checkout on Friday',
      recorded_by: 'coder',
      category: 'process',
      stakes: 'low',
      confidence: 0.7,
      reasons: [{ type: 'analysis', text: 'The rehearsal went well.', strength: 0.8 }],
      alternatives_considered: ['Monday'],
      tags: ['checkout', 'friday'],
      project: { name: 'acme/shop' },
      verdict: { allowed: true },
    })
    expect(watched.complaints).toEqual([])
  })

  test('an answer that is lost on the way records nothing twice', async () => {
    await visit(page, server.url, '/record')
    await fill('Retire the old cache', '60')
    const before = await total()
    let lost = 0
    await page.route('**/cstp', async (route) => {
      if (lost > 0 || !route.request().postData()?.includes('recordDecision')) return route.continue()
      lost++
      await route.fetch()
      await route.abort()
    })
    await press('Record')
    await shown()
    await page.unroute('**/cstp')
    expect([lost, await total()]).toEqual([1, before + 1])
    watched.complaints.length = 0
  })

  test('what the service refuses is said at its field, which takes the focus', async () => {
    await visit(page, server.url, '/record')
    await fill('Split the queue', '60')
    await field('Category').fill('x'.repeat(65))
    await press('Add a reason')
    await field('Type').fill('risk')
    await field('Reason').fill('y'.repeat(10_001))
    await press('Record')
    await page.locator('[aria-invalid]').first().waitFor()
    await page.waitForFunction(() => document.activeElement?.getAttribute('aria-invalid') === 'true')
    const category = field('Category')
    expect(await category.evaluate((input) => input === document.activeElement)).toBe(true)
    const about = async () => page.locator(`#${(await category.getAttribute('aria-describedby'))!.split(' ')[0]}`)
    expect(await (await about()).innerText()).toContain('at most 64 characters')
    await category.fill('process')
    await press('Record')
    await page.locator('textarea[aria-invalid]').waitFor()
    expect(await field('Reason').getAttribute('aria-invalid')).toBe('true')
    // Facts are JSON.
    await field('Reason').fill('short')
    await page.getByText('Pattern, review and facts for rules').click()
    await field('Facts for rules, as JSON').fill('{"affects_production": tru')
    await press('Record')
    await page.locator('textarea[aria-invalid].code').waitFor()
    await press('Discard the draft')
    expect(await field('Decision').inputValue()).toBe('')
  })

  test('a draft survives the end of the session and a reload, for its agent alone', async () => {
    await visit(page, server.url, '/record')
    await fill('Deploy the checkout on Monday', '55')
    await press('Add a reason')
    await field('Type').fill('analysis')
    await field('Reason').fill('It is slow.')
    // What is asked while somebody types is answered before the session ends.
    await page.getByRole('region', { name: 'Precedents' }).getByRole('link').first().waitFor()
    await settled(page)
    await page.context().clearCookies()
    await press('Check the policy')
    await page.getByRole('heading', { name: 'Log in to cstp' }).waitFor()
    await page.getByLabel('Agent', { exact: true }).fill('coder')
    await page.getByLabel('Token', { exact: true }).fill(people.coder)
    await press('Log in')
    await page.getByRole('heading', { level: 1, name: 'Record a decision' }).waitFor()
    expect(await field('Decision').inputValue()).toBe('Deploy the checkout on Monday')
    await page.reload()
    await page.getByText('This is your draft from before.').waitFor()
    expect(await field('Decision').inputValue()).toBe('Deploy the checkout on Monday')
    expect(await field('Reason').inputValue()).toBe('It is slow.')
    expect(await field('Confidence in %').inputValue()).toBe('55')
    const other = await open(browser)
    await other.context.addInitScript(
      (kept) => sessionStorage.setItem('cstp:draft:coder:new', kept),
      JSON.stringify({ decision: 'of coder' }),
    )
    await logIn(other.page, server.url, 'root', people.root)
    await visit(other.page, server.url, '/record')
    expect(await other.page.getByLabel('Decision', { exact: true }).inputValue()).toBe('')
    await other.context.close()
    await press('Discard the draft')
  })

  test('a decision is superseded from its page: the form is filled in, and both are linked', async () => {
    await visit(page, server.url, '/record')
    await fill('Keep sessions in the database', '80')
    await field('Context').fill('One server.')
    await press('Record')
    const old = await shown()
    await page.getByRole('link', { name: 'Supersede' }).click()
    await page.getByRole('heading', { level: 1, name: 'Supersede: Keep sessions in the database' }).waitFor()
    await settled(page)
    expect(await field('Context').inputValue()).toBe('One server.')
    expect(await field('Confidence in %').inputValue()).toBe('')
    await field('Decision').fill('Keep sessions in a cache')
    await field('Confidence in %').fill('65')
    await field('What has changed since').fill('There are four servers now.')
    await press('Record')
    const id = await shown()
    expect(await server.call('getDecision', { id })).toMatchObject({
      links: [{ target_id: old, edge_type: 'supersedes', effective: true, context: 'There are four servers now.' }],
    })
    await visit(page, server.url, `/decisions/${old}`)
    await page.locator('.notice', { hasText: 'Superseded by' }).waitFor()
    // Of somebody else the form says before that it will have no effect.
    await visit(page, server.url, `/record?supersedes=${await record({ decision: 'Of root' })}`)
    await page.getByText('Only root and curators can supersede it').waitFor()
  })

  test('what somebody else changed meanwhile is shown beside the own text, and nothing is lost', async () => {
    await visit(page, server.url, '/record')
    await fill('Shard the index', '75')
    await press('Record')
    const id = await shown()
    await page.getByRole('link', { name: 'Edit' }).click()
    await page.getByRole('heading', { level: 1, name: 'Edit: Shard the index' }).waitFor()
    await settled(page)
    await press('Save the changes')
    await page.getByText('Nothing is changed.').waitFor()
    await field('Context').fill('mine')
    await field('Decision').fill('Shard the index by day')
    await field('Tags, separated by commas').fill('index')
    await server.call('updateDecision', { id, updates: { context: 'theirs', confidence: 0.5, tags: ['index'] } })
    await press('Save the changes')
    const conflict = page.getByRole('region', { name: 'Changed meanwhile' })
    await conflict.getByText('root changed this decision after you opened it').waitFor()
    // Both changed the context; the tags are the same, and only one of them changed the rest.
    expect(await conflict.locator('fieldset').count()).toBe(1)
    expect(await conflict.innerText()).toMatch(/mine[\s\S]*theirs/)
    await page.reload()
    await conflict.getByLabel('Stored now').check()
    await press('Continue with these')
    expect(await field('Context').inputValue()).toBe('theirs')
    expect(await field('Confidence in %').inputValue()).toBe('50')
    await press('Save the changes')
    expect(await shown()).toBe(id)
    expect(await server.call('getDecision', { id })).toMatchObject({
      decision: 'Shard the index by day',
      context: 'theirs',
      confidence: 0.5,
      tags: ['index'],
      revision_count: 2,
    })
    // Others have no form for it.
    await visit(page, server.url, `/edit/${await record({ decision: 'Of root alone' })}`)
    await page.getByText('Only root, who recorded it, and curators may edit this decision.').waitFor()
  })

  test('by keyboard alone two decisions are linked, from the palette on', async () => {
    const [id, target] = [
      await record({ decision: 'Write the runbook' }),
      await record({ decision: 'Rotate the keys' }),
    ]
    await visit(page, server.url, `/decisions/${id}`)
    await page.keyboard.press('Control+k')
    await page.keyboard.type('Link this')
    await page.keyboard.press('Enter')
    await page.waitForFunction(() => (document.activeElement as HTMLInputElement)?.name === 'edge_type')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Tab')
    await page.keyboard.type('rotate the keys')
    // What is found for the first words may be shown while the others are typed.
    await page.locator('.picker [role=option]').first().filter({ hasText: 'Rotate the keys' }).waitFor()
    await page.keyboard.press('Enter')
    expect(await page.getByRole('combobox', { name: 'The other decision' }).inputValue()).toBe('Rotate the keys')
    await page.keyboard.press('Tab')
    await page.keyboard.type('It says how.')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByText('Linked.', { exact: true }).waitFor()
    expect(await server.call('getDecision', { id })).toMatchObject({
      links: [{ target_id: target, edge_type: 'depends_on', context: 'It says how.', created_by: 'coder' }],
    })
  })

  test('where the service may write no rules, the file to add by hand is given', async () => {
    const other = await open(browser)
    await logIn(other.page, server.url, 'root', people.root)
    await visit(other.page, server.url, '/policy')
    const bench = other.page.getByRole('region', { name: 'Workbench' })
    await bench.getByLabel('Rules as YAML').fill('- { id: calm, action: block, condition_stakes: high, message: m }')
    await bench.getByRole('button', { name: 'Put in shadow mode' }).click()
    await bench.getByText('cstp guardrails reload').waitFor()
    const saved = other.page.waitForEvent('download')
    await bench.getByRole('button', { name: 'Save the file' }).click()
    expect(await Bun.file(await (await saved).path()).text()).toContain('mode: shadow')
    await other.context.close()
  })

  test('an agent without the scope write is offered none of it', async () => {
    const other = await open(browser)
    await logIn(other.page, server.url, 'reader', people.reader)
    await visit(other.page, server.url, '/record')
    await other.page.getByText('your agent needs the scope write').waitFor()
    await visit(other.page, server.url, `/decisions/${await record({ decision: 'To be read' })}`)
    expect(await other.page.getByRole('link', { name: /^(Edit|Supersede)$/ }).count()).toBe(0)
    expect(await other.page.getByText('Link it to another decision').count()).toBe(0)
    await other.page.keyboard.press('Control+k')
    await other.page.keyboard.type('decision')
    expect(await other.page.locator('dialog').innerText()).not.toContain('Record a decision')
    await other.context.close()
  })
})

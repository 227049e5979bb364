/** The page of an approval in a real browser: what it shows, who may answer, and that the agent passes after the answer. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import axe from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import { type RunningServer, startServer, temporaryDir } from '../support/process.ts'
import { executable, launch, logIn, open, settled, visit, type Watched } from './browser.ts'
import { hostile, people } from './place.ts'

setDefaultTimeout(120_000)

describe.skipIf(!executable)('approvals on the dashboard', () => {
  let dir: string
  let server: RunningServer
  let browser: Browser
  let watched: Watched
  let page: Page

  beforeAll(async () => {
    dir = await temporaryDir('cstp-approvals-')
    await mkdir(join(dir, 'rules'))
    await writeFile(
      join(dir, 'rules', 'pay.yaml'),
      '- { id: pay, action: step_up, message: Payments need a person, condition_category: payment }\n',
    )
    const env = {
      CSTP_AUTH_TOKENS: `root:${people.root},coder:${people.coder}`,
      GUARDRAILS_PATHS: join(dir, 'rules'),
      CSTP_EMBEDDER: 'hash',
    }
    ;[server, browser] = await Promise.all([startServer({ dir, env }), launch()])
    watched = await open(browser)
    page = watched.page
    await logIn(page, server.url, 'root', people.root)
  })
  afterAll(async () => {
    await browser?.close()
    await server?.kill()
    if (dir) await rm(dir, { recursive: true, force: true })
  })

  /** The agent coder asks. */
  const check = async (description: string, as = `coder:${people.coder}`, note = hostile) => {
    const params = { action: { description, category: 'payment', stakes: 'high', context: { note } } }
    const response = await fetch(`${server.url}/cstp`, {
      method: 'POST',
      headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', method: 'cstp.checkGuardrails', params, id: 1 }),
    })
    const { result } = (await response.json()) as {
      result: { allowed: boolean; approval: { id: string; url: string } | null; violations: { message: string }[] }
    }
    return result
  }

  test('the queue leads to the request, which shows everything; a grant lets the agent pass', async () => {
    await check('An earlier payment')
    const { approval } = await check(`Pay 5000 ${hostile}`)
    await visit(page, server.url, '/approvals')
    await page.getByRole('row', { name: approval!.id }).getByRole('link').click()
    await page.getByRole('heading', { level: 1, name: 'Pay 5000' }).waitFor()
    await settled(page)
    expect(page.url()).toBe(approval!.url)
    const text = await page.locator('main').innerText()
    for (const part of ['Pay 5000', 'coder', 'Payments need a person', 'An earlier payment', 'Precedents', hostile])
      expect(text).toContain(part)
    expect(await page.title()).toStartWith('Pay 5000 ')
    expect(text).toContain('Other requests of coder for the same rules: 1 pending.')
    await page.evaluate(axe.source)
    const { violations } = await page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run())
    expect(
      violations.filter(({ impact }) => impact === 'serious' || impact === 'critical').map(({ id }) => id),
    ).toEqual([])
    await page.getByLabel('Reason, which').fill('checked with finance')
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('status').filter({ hasText: 'This request is approved.' }).waitFor()
    expect(await check(`Pay 5000 ${hostile}`)).toMatchObject({ allowed: true })
    expect(watched.complaints).toEqual([])
  })

  test('a denial with its reason reaches the agent', async () => {
    const long = `Pay 9000 ${'for one of many invoices, '.repeat(200)}to the last one`
    const note = 'One more line of what it is for. '.repeat(40)
    const { approval } = await check(long, undefined, note)
    await visit(page, server.url, `/approvals/${approval!.id}`)
    // All of it is on one screen: record, action, rules, like cases and the buttons. The rest of a long action unfolds.
    const end = () =>
      page.evaluate(() => {
        const range = document.createRange()
        range.selectNodeContents(document.querySelector('h1')!)
        return (
          [...range.getClientRects()].at(-1)!.bottom <= document.querySelector('h1')!.getBoundingClientRect().bottom
        )
      })
    expect(await end()).toBe(false)
    const { y, height } = (await page.getByRole('button', { name: 'Deny' }).boundingBox())!
    expect(y + height).toBeLessThanOrEqual(900)
    await page.getByText(`All ${long.length.toLocaleString('en')} characters`).click()
    expect(await end()).toBe(true)
    await page.getByLabel('Reason, which').fill('too much')
    await page.getByRole('button', { name: 'Deny' }).click()
    await page.getByRole('status').filter({ hasText: 'This request is denied.' }).waitFor()
    expect((await check(long, undefined, note)).violations[0]!.message).toContain('was denied by root: too much')
  })

  test('twelve requests take twelve keys; a denial asks for its reason first', async () => {
    for (let number = 0; number < 12; number++) await check(`Pay invoice ${number}`)
    const pending = async () =>
      (
        (await server.call('listApprovals', { state: 'pending' })) as {
          approvals: { id: string; expires_at: string }[]
        }
      ).approvals
    const before = await pending()
    const [soonest] = before.sort((a, b) => (a.expires_at < b.expires_at ? -1 : 1))
    await visit(page, server.url, `/approvals/${soonest!.id}`)
    await page.keyboard.press('d')
    expect(await page.getByLabel('Reason, which').evaluate((field) => field === document.activeElement)).toBe(true)
    await page.locator('h1').focus()
    for (let keys = 0; keys < 12; keys++) {
      const path = new URL(page.url()).pathname
      await page.keyboard.press('a')
      await page.waitForFunction((at) => location.pathname !== at, path)
      await settled(page)
    }
    expect((await pending()).length).toBe(before.length - 12)
  })

  test('the requester, and an agent without the scope, get no form', async () => {
    const own = await check('Pay myself', `root:${people.root}`)
    await page.goto(own.approval!.url)
    await page.getByText('somebody else decides').waitFor()
    expect(await page.getByRole('button', { name: 'Approve' }).count()).toBe(0)
    const other = await open(browser)
    await logIn(other.page, server.url, 'coder', people.coder)
    await other.page.goto(own.approval!.url)
    await other.page
      .getByText('No approval that coder requested has this id; those of others need the scope approve')
      .waitFor()
    const { approval } = await check('Pay 1')
    await other.page.goto(approval!.url)
    await other.page.getByText('somebody else decides').waitFor()
    expect(await other.page.getByRole('button', { name: 'Approve' }).count()).toBe(0)
    await other.context.close()
  })
})

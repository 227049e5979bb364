/** The dashboard over many decisions, with `CSTP_SOAK=1` 100 000: the right rows and figures on every page, and no page that grows with the store. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page, Request } from 'playwright-core'
import { runToEnd } from '../bench/process.ts'
import { type RunningServer, startServer } from '../support/process.ts'
import { executable, launch, logIn, open, settled, visit, type Watched } from './browser.ts'
import { people } from './place.ts'

setDefaultTimeout(400_000)
const size = process.env.CSTP_SOAK === '1' ? 100_000 : 20_000
const pages = size / 25
const shown = (count: number) => count.toLocaleString('en')
const needle = 'Give the lighthouse keeper a telegraph'

/** A folder in memory where there is room: a file for each of 100 000 decisions takes a slow disk minutes. */
async function roomy(): Promise<string> {
  const shared = await statfs('/dev/shm').catch(() => null)
  return shared && shared.bavail * shared.bsize > 4e9 ? '/dev/shm' : tmpdir()
}

interface Listed {
  decisions: { id: string; title: string }[]
  total: number
}

describe.skipIf(!executable)(`the dashboard over ${shown(size)} decisions`, () => {
  let dir: string
  let server: RunningServer
  let browser: Browser
  let watched: Watched
  let page: Page
  let url: string
  /** What the page asked the service since it was last looked at. */
  let asked: Request[] = []

  beforeAll(async () => {
    dir = await mkdtemp(join(await roomy(), 'cstp-many-'))
    await runToEnd('test/dashboard/seed.ts', [dir, size, needle])
    server = await startServer({ dir, env: { CSTP_AUTH_TOKENS: `root:${people.root}` } })
    url = server.url
    browser = await launch()
    watched = await open(browser)
    page = watched.page
    page.on('request', (request) => request.url().endsWith('/cstp') && asked.push(request))
    await logIn(page, url, 'root', people.root)
    await settled(page)
  })
  afterAll(async () => {
    await browser?.close()
    await server?.kill()
    if (dir) await rm(dir, { recursive: true, force: true })
  })

  /** Goes there, and looks at how much work it was: a page over many decisions is as small as one over few. */
  const look = async (path: string) => {
    asked = []
    await visit(page, url, path)
    const sizes = await Promise.all(asked.map(async (request) => (await request.sizes()).responseBodySize))
    expect([path, asked.length <= 12]).toEqual([path, true])
    expect([path, sizes.reduce((sum, bytes) => sum + bytes, 0) < 400_000]).toEqual([path, true])
    const elements = await page.evaluate(() => document.querySelectorAll('*').length)
    expect([path, elements < 2_000]).toEqual([path, true])
    expect(watched.complaints.splice(0)).toEqual([])
  }
  /** A decision in the list, or a hit of a search. */
  const listedLink = 'tbody td:first-child > a, .hits > li > h2 > a'
  const ids = async () =>
    (
      await page.locator(listedLink).evaluateAll((links) => links.map((link) => (link as HTMLAnchorElement).pathname))
    ).map((path) => path.split('/').at(-1)!)
  const listed = (params: object) =>
    server.call('listDecisions', { limit: 25, ...params }) as Promise<object> as Promise<Listed>
  const figure = (name: string) =>
    page
      .locator('.figure', { has: page.locator('dt', { hasText: name }) })
      .locator('strong')
      .first()
      .innerText()

  test('Today counts what the method counts, and asks for at most 40 things', async () => {
    await look('?period=all')
    const { reviewed, failed } = (await server.call('getBriefing', { since: '1970-01-01' })) as {
      reviewed: number
      failed: number
    }
    const changed = await page.getByRole('region', { name: 'What changed' }).innerText()
    for (const count of [`${shown(size)} decisions`, `${shown(reviewed)} reviewed`, `${shown(failed)} failed`])
      expect(changed).toContain(count)
    const items = await page.getByRole('region', { name: 'Waits for you' }).locator('li').count()
    expect(items).toBeGreaterThan(0)
    expect(items).toBeLessThanOrEqual(40)
  })

  test('any page of the list is the one that the method gives, in every order', async () => {
    for (const [sort, order] of [
      ['created_at', 'desc'],
      ['created_at', 'asc'],
      ['confidence', 'desc'],
      ['category', 'asc'],
      ['stakes', 'desc'],
      ['status', 'asc'],
    ] as const)
      for (const number of sort === 'created_at' ? [1, pages / 2, pages] : [777]) {
        await look(`/decisions?sort=${sort}&order=${order}&page=${number}`)
        const { decisions, total } = await listed({ sort, order, offset: 25 * (number - 1) })
        expect(total).toBe(size)
        expect([sort, order, number, ...(await ids())]).toEqual([sort, order, number, ...decisions.map(({ id }) => id)])
        const from = 25 * (number - 1) + 1
        expect(await page.getByRole('status').first().innerText()).toBe(
          `${shown(size)} decisions, ${from.toLocaleString('en')} to ${(from + 24).toLocaleString('en')} shown`,
        )
      }
  })

  test('the pager reaches the first, the last and any page', async () => {
    await look('/decisions')
    const pager = page.getByRole('navigation', { name: 'Pages of the list' })
    const go = async (step: () => Promise<void>, number: number) => {
      await step()
      await page.waitForURL((address) => (address.searchParams.get('page') ?? '1') === String(number))
      await settled(page)
      const { decisions } = await listed({ offset: 25 * (number - 1) })
      expect(await ids()).toEqual(decisions.map(({ id }) => id))
      expect(await pager.getByLabel('Page').inputValue()).toBe(String(number))
    }
    await go(() => pager.getByRole('link', { name: 'Last' }).click(), pages)
    expect(await pager.getByRole('link').allInnerTexts()).toEqual(['First', 'Previous'])
    await go(() => pager.getByRole('link', { name: 'Previous' }).click(), pages - 1)
    await go(async () => {
      await pager.getByLabel('Page').fill('345')
      await pager.getByRole('button', { name: 'Go' }).click()
    }, 345)
    await go(() => pager.getByRole('link', { name: 'Next' }).click(), 346)
    await go(() => page.goBack().then(() => {}), 345)
    await go(() => pager.getByRole('link', { name: 'First' }).click(), 1)
    await look(`/decisions?page=${pages + 1}`)
    expect(await page.locator('.empty').innerText()).toBe('The list ends before this page.')
    expect(watched.complaints).toEqual([])
  })

  test('filters narrow the list to what the method counts', async () => {
    for (const [query, params] of [
      ['category=process&stakes=high&page=40', { category: 'process', stakes: 'high', offset: 975 }],
      ['outcome=failure&agent=agent-3&sort=confidence', { outcome: 'failure', agent: 'agent-3', sort: 'confidence' }],
      ['status=pending&page=200', { status: 'pending', offset: 4_975 }],
    ] as const) {
      await look(`/decisions?${query}`)
      const { decisions, total } = await listed(params)
      expect([query, ...(await ids())]).toEqual([query, ...decisions.map(({ id }) => id)])
      expect(await page.getByRole('status').first().innerText()).toContain(`${total.toLocaleString('en')} decisions`)
    }
  })

  for (const mode of ['hybrid', 'semantic', 'keyword'])
    test(`a search by ${mode} finds the one among them`, async () => {
      await look(`/decisions?mode=${mode}&q=${encodeURIComponent('a telegraph for the lighthouse')}`)
      expect(await page.locator(listedLink).first().innerText()).toBe(needle)
      const found = (await server.call('queryDecisions', {
        query: 'a telegraph for the lighthouse',
        retrieval_mode: mode,
        limit: 25,
      })) as object as Listed
      expect(await ids()).toEqual(found.decisions.map(({ id }) => id))
    })

  test('a search ends where the method goes no further', async () => {
    await look('/decisions?mode=semantic&q=queue&page=400')
    const pager = page.getByRole('navigation', { name: 'Pages of the list' })
    expect(await pager.innerText()).toMatch(/of 400\b/)
    expect(await pager.getByRole('link').allInnerTexts()).toEqual(['First', 'Previous'])
    expect((await ids()).length).toBe(25)
  })

  test('calibration and one decision', async () => {
    await look('/calibration?category=tooling')
    const { overall } = (await server.call('getCalibration', { category: 'tooling', window: 'all' })) as {
      overall: { brier_score: number }
    }
    expect(await figure('Brier score')).toBe(overall.brier_score.toFixed(3))
    const { decisions } = await listed({ offset: size / 2 })
    await look(`/decisions/${decisions[0]!.id}`)
    expect(await page.locator('h1').innerText()).toBe(decisions[0]!.title)
    for (const path of ['/policy', '/breakers', '/proof', '/deliberation']) await look(path)
  })
})

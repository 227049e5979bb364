/** A real browser for the dashboard's tests, which notes everything that a page complains about. */
import axe, { type AxeResults, type RunOnly, type RunOptions } from 'axe-core'
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from 'playwright-core'

/** The one without windows, where it is installed, takes half the time. */
export const executable = Bun.which('chromium-headless-shell') ?? Bun.which('chromium') ?? Bun.which('google-chrome')
if (!executable) console.warn('no chromium found: the dashboard is not tried in a browser')

/** Each page that the menu or a tab leads to: its address, its heading, the entry of the menu, and its tab there. */
export const shape: readonly [path: string, title: string, entry: string, tab?: string][] = [
  ['', 'Today', 'Today'],
  ['/inbox', 'Inbox', 'Today', 'Inbox'],
  ['/decisions', 'Decisions', 'Decisions'],
  ['/agents', 'Agents', 'Agents'],
  ['/calibration', 'Calibration', 'Agents', 'Calibration'],
  ['/deliberation', 'Deliberation', 'Agents', 'Deliberation'],
  ['/policy', 'Policy', 'Policy'],
  ['/approvals', 'Approvals', 'Policy', 'Approvals'],
  ['/breakers', 'Breakers', 'Policy', 'Breakers'],
  ['/tools', 'Tools', 'Policy', 'Tools'],
  ['/proof', 'Proof', 'Proof'],
]

/** A link of the menu. */
export const menuLink = (page: Page, name: string): Locator =>
  page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true })
/** A link of the tabs of an entry. */
export const tabLink = (page: Page, entry: string, name: string): Locator =>
  page.getByRole('navigation', { name: entry, exact: true }).getByRole('link', { name: new RegExp(`^${name}`) })

export const launch = (): Promise<Browser> =>
  chromium.launch({ executablePath: executable!, args: ['--no-sandbox', '--disable-dev-shm-usage'] })

export interface Watched {
  context: BrowserContext
  page: Page
  /** Console errors, violations of the policy, exceptions, and requests to other hosts. */
  complaints: string[]
}

export async function open(
  browser: Browser,
  options: { width?: number; height?: number; dark?: boolean } = {},
): Promise<Watched> {
  const context = await browser.newContext({
    viewport: { width: options.width ?? 1280, height: options.height ?? 900 },
    colorScheme: options.dark ? 'dark' : 'light',
    reducedMotion: 'reduce',
  })
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    // That nobody is logged in yet, or that a login was refused, is what the page asked about.
    const asked = /\/dashboard\/session$/.test(message.location().url)
    if (message.type() === 'error' && !asked) complaints.push(`console: ${message.text()} ${message.location().url}`)
  })
  page.on('pageerror', (error) => complaints.push(`exception: ${error.message}`))
  await page.addInitScript(() => {
    const state = globalThis as unknown as { asking: number }
    state.asking = 0
    const { fetch } = globalThis
    globalThis.fetch = Object.assign(
      (...given: Parameters<typeof fetch>) => {
        state.asking++
        return fetch(...given).finally(() => state.asking--)
      },
      { preconnect: fetch.preconnect },
    )
    addEventListener('securitypolicyviolation', (event) =>
      console.error('policy:', JSON.stringify(Object.fromEntries(Object.entries(event)))),
    )
  })
  return { context, page, complaints }
}

export async function logIn(page: Page, url: string, agent: string, token: string): Promise<void> {
  await page.goto(`${url}/dashboard`)
  await page.getByLabel('Agent', { exact: true }).fill(agent)
  await page.getByLabel('Token', { exact: true }).fill(token)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('heading', { level: 1, name: 'Today' }).waitFor()
}

/** Goes to an address of the dashboard and waits until nothing loads any more. */
export async function visit(page: Page, url: string, path: string): Promise<void> {
  await page.goto(`${url}/dashboard${path}`)
  await page.locator('main h1').waitFor()
  await settled(page)
}

export async function settled(page: Page): Promise<void> {
  // A page that shall show something else begins to load a moment later: nothing may load or be asked for a while.
  await page.waitForFunction(
    ({ since, calm_ms, frames }) => {
      const state = globalThis as unknown as { asking: number; calm?: { since: string; from: number; frames: number } }
      const loading =
        state.asking > 0 ||
        document.querySelector('[aria-busy="true"]') !== null ||
        [...document.querySelectorAll('[role=status]')].some((one) => one.textContent?.startsWith('Loading'))
      if (loading || state.calm?.since !== since) state.calm = { since, from: performance.now(), frames: 0 }
      // Effects run after the next frame. A busy machine may let the time pass within one, so frames count as well.
      return !loading && ++state.calm!.frames > frames && performance.now() - state.calm!.from >= calm_ms
    },
    { since: crypto.randomUUID(), calm_ms: 80, frames: 5 },
  )
}

/** Those rules of WCAG 2.2 AA that look at colours. */
export const colours: RunOnly = { type: 'rule', values: ['color-contrast', 'link-in-text-block'] }

/** By how many pixels a page is wider than its window. */
export const spill = (page: Page): Promise<number> =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)

/** What axe finds on a page or in a part of it. */
export async function violations(
  page: Page,
  { within = 'html', ...options }: RunOptions & { within?: string } = {},
): Promise<AxeResults['violations']> {
  await page.evaluate(axe.source)
  const found = await page.evaluate(
    ([part, given]) => (globalThis as unknown as { axe: typeof axe }).axe.run(part, given),
    [within, options] as const,
  )
  return found.violations
}

/**
 * The five jobs that people come to the dashboard with, each in the clicks that it claims, over the decisions of the fleet. The tests do
 * them by keyboard alone, the script of the pictures with a mouse.
 */
import type { Locator, Page } from 'playwright-core'
import { settled } from './browser.ts'

/** How somebody uses a page. Every press that acts is a click; typing and walking with the tab key are not. */
export interface Hands {
  page: Page
  /** Clicks so far. */
  clicks: number
  press(on: Locator): Promise<void>
  type(into: Locator, text: string): Promise<void>
}

export const mouse = (page: Page): Hands => ({
  page,
  clicks: 0,
  async press(on) {
    this.clicks++
    await on.click()
    await settled(page)
  },
  async type(into, text) {
    await into.fill(text)
    await settled(page)
  },
})

/** Nobody walks through more. */
const mostTabs = 250

/** Reaches everything with the tab key. @throws Error for what it does not reach */
export function keyboard(page: Page): Hands {
  async function reach(on: Locator): Promise<void> {
    await on.waitFor()
    const isFocused = () => on.evaluate((one) => one === document.activeElement)
    for (let tabs = 0; !(await isFocused()); tabs++) {
      if (tabs === mostTabs) throw new Error(`the tab key does not reach ${on}`)
      await page.keyboard.press('Tab')
    }
  }
  return {
    page,
    clicks: 0,
    async press(on) {
      await reach(on)
      this.clicks++
      await page.keyboard.press('Enter')
      await settled(page)
    },
    async type(into, text) {
      await reach(into)
      await page.keyboard.insertText(text)
      await settled(page)
    },
  }
}

export interface Job {
  name: string
  clicks: number
  /** Begins on the overview. @returns what answers the question */
  run(hands: Hands): Promise<Locator>
}

const menu = ({ page }: Hands, name: string): Locator =>
  page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true })

const draftOf = (id: string) => `guardrails:
  - id: ${id}
    mode: shadow
    action: block
    condition_stakes: critical
    condition_confidence: "< 0.85"
    message: Critical stakes need a confidence of 0.85`

const workbenchJob = (id: string): Job => ({
  name: 'workbench',
  clicks: 2,
  async run(hands) {
    const { page } = hands
    await hands.press(menu(hands, 'Policy'))
    const bench = page.getByRole('region', { name: 'Workbench' })
    await hands.type(bench.getByLabel('Rules as YAML'), draftOf(id))
    await bench.getByRole('table', { name: 'On decisions whose outcome is known' }).waitFor()
    await hands.press(bench.getByRole('button', { name: 'Put in shadow mode' }))
    return bench.getByText(`Now in shadow mode: ${id}`)
  },
})

export const jobs: readonly Job[] = [
  {
    name: 'trust',
    clicks: 1,
    async run(hands) {
      await hands.press(menu(hands, 'Agents'))
      return hands.page.locator('.lead', { hasText: 'Decisions of releaser: in the last 30 days' })
    },
  },
  {
    name: 'block',
    clicks: 2,
    async run(hands) {
      const { page } = hands
      const blocks = page.getByRole('table', { name: 'Stopped actions' })
      await hands.press(blocks.getByRole('link', { name: 'Switch region 7 to the new checkout' }))
      const why = page.getByRole('region', { name: 'Why, and what would allow it' })
      await why.getByText('What would allow it: Find out what fails').waitFor()
      await hands.press(page.getByRole('link', { name: 'What opened this breaker' }))
      return page.getByRole('region', { name: 'What opened it' }).getByText('Switch region 3 to the new checkout')
    },
  },
  {
    name: 'dossier',
    clicks: 2,
    async run(hands) {
      const { page } = hands
      await page.keyboard.press('/')
      await hands.type(page.getByRole('combobox', { name: 'Go to' }), 'switch region 3 to the new checkout')
      const found = page.getByRole('option', { name: /^Switch region 3 to the new checkout/ })
      await found.waitFor()
      hands.clicks++
      await found.click()
      await page.getByRole('heading', { level: 1 }).waitFor()
      await hands.press(page.getByRole('link', { name: 'Dossier' }))
      return page.getByRole('status').filter({ hasText: 'each in the signed log' })
    },
  },
  workbenchJob('unsure-at-critical-stakes-later'),
  {
    name: 'search',
    clicks: 1,
    async run(hands) {
      const { page } = hands
      await page.keyboard.press('/')
      await hands.type(page.getByRole('combobox', { name: 'Go to' }), 'why deploy the new payment gateway')
      hands.clicks++
      await page.keyboard.press('Enter')
      await page.waitForURL(/q=why/)
      await settled(page)
      return page.locator('.hits mark').first()
    },
  },
]

/** What else people come with. */
const changes: Job = {
  name: 'what changed since yesterday',
  clicks: 1,
  async run(hands) {
    await hands.page.getByLabel('Period').selectOption('24h')
    hands.clicks++
    await settled(hands.page)
    return hands.page.getByRole('region', { name: 'What changed' })
  },
}
const rule: Job = {
  name: 'a rule for an agent that should not decide alone',
  clicks: 2,
  async run(hands) {
    await hands.press(menu(hands, 'Agents'))
    await hands.press(hands.page.getByRole('link', { name: 'Ask a person at critical' }).first())
    return hands.page.getByText(/it catches \d+ failures? and costs \d+ success/)
  },
}
/** Who may not see the trail of others reads what opened the breaker. */
const breaker: Job = {
  name: 'what opened a breaker',
  clicks: 1,
  async run(hands) {
    await hands.press(hands.page.locator('.inbox').getByRole('link', { name: 'category:deployment' }))
    return hands.page.getByRole('region', { name: 'What opened it' }).getByText('Switch region 3 to the new checkout')
  },
}

const [trust, block, dossier, , search] = jobs
const common = [trust!, dossier!, search!, changes]
/** What each role does. */
export const roleJobs: Record<string, readonly Job[]> = {
  lead: [...common, breaker, workbenchJob('a-lead-wants-it'), rule],
  auditor: [...common, block!, breaker],
  planner: [...common, block!, breaker],
  /** Its other jobs are done by keyboard. */
  root: [changes, breaker, rule],
}
